"""What ``make bench`` measures; each figure beside a peer of the same run."""

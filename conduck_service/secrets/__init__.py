"""References to secrets, and how their values are found."""

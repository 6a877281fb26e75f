"""Small things with no knowledge of the product; imports nothing of ours."""

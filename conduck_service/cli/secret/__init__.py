"""``open-conduit secret``: values that the config refers to."""

"""``open-conduit init``: a first config, its secrets and its folder."""

"""The shared folder on the disk: every step by handle, no link followed."""

"""The file lane, module by module."""

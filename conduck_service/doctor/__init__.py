"""Finds out what is wrong with a config, a running service and its surroundings."""

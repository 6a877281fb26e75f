"""The ports between the core and everything that plugs into it."""

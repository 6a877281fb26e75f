"""``open-conduit config``, one module a command."""

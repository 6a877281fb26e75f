"""The service as systemd and launchd run it: units, agents, and whose they are."""

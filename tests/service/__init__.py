"""The service as systemd and launchd run it."""

"""``open-conduit service``: let systemd or launchd run it."""

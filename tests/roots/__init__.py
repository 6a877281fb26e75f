"""The package in real roots: Debian from its mirror, with systemd as process 1."""

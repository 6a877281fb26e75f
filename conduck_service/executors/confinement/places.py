"""What engines of every kind need of the system to run at all.

No person's files are among these places: of ``/etc`` only what programs are told
by, nothing below ``/home``, ``/root``, ``/run``, ``/tmp``, ``/var``.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

_LINUX = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"),
    *("/nix/store", "/gnu/store", "/run/current-system", "/home/linuxbrew/.linuxbrew"),
    # What these tell of other processes is what ps tells everybody: of their
    # environment and their files Landlock keeps a confined process away.
    *("/proc", "/sys"),
)
_MAC = (
    *("/usr", "/bin", "/sbin", "/System", "/Library", "/opt", "/Applications"),
    *("/private/var/db/dyld", "/private/var/db/timezone", "/private/var/select"),
)

_SETTINGS = (
    *("alternatives", "bash.bashrc", "ca-certificates", "crypto-policies"),
    *("debian_version", "environment", "fonts", "gai.conf", "gitconfig", "group"),
    *("host.conf", "hostname", "hosts", "inputrc", "ld.so.cache", "ld.so.conf"),
    *("ld.so.conf.d", "ld.so.preload", "locale.alias", "locale.conf", "localtime"),
    *("lsb-release", "magic", "mime.types", "nsswitch.conf", "os-release", "passwd"),
    *("pki/ca-trust", "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf"),
    *("profile", "profile.d", "protocols", "resolv.conf", "services", "shells"),
    *("ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone"),
    *("static", "xdg"),
)
"""Below ``/etc``; never what holds keys, such as ``shadow`` or ``ssl/private``."""

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
"""Below ``/dev``; no terminals of other sessions, and no shared memory of others."""


@cache
def system_paths() -> tuple[Path, ...]:
    """Return what every engine may read and run."""
    etc = "/private/etc" if sys.platform == "darwin" else "/etc"
    places = _MAC if sys.platform == "darwin" else _LINUX
    return tuple(map(Path, (*places, *(f"{etc}/{name}" for name in _SETTINGS))))


@cache
def devices() -> tuple[Path, ...]:
    """Return the devices that every engine may use."""
    return tuple(Path("/dev", name) for name in _DEVICES)

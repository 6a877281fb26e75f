"""The environment of an engine: a safe baseline, then what config adds."""

from __future__ import annotations

from collections.abc import Mapping

_NAMES = frozenset(
    {
        "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "SSL_CERT_DIR",
        "SSL_CERT_FILE", "TMPDIR", "TZ", "USER", "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
    }
)  # fmt: skip
_PREFIXES = ("LC_",)

RESERVED_PREFIXES = ("OS_", "OPEN_CONDUIT_", "CONDUCK_")
"""Variables that config may not set: the toolbelt's and the daemon's own."""

DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


def baseline(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the daemon's variables that every engine may see.

    It is a list of names that are known to be harmless, so a credential in the
    daemon's environment stays there.
    """
    safe = {
        name: value
        for name, value in environment.items()
        if name in _NAMES or name.startswith(_PREFIXES)
    }
    safe.setdefault("PATH", DEFAULT_PATH)
    return safe


def engine_environment(
    environment: Mapping[str, str],
    host_env: Mapping[str, str],
    config_env: Mapping[str, str],
    secret_env: Mapping[str, str],
) -> dict[str, str]:
    """Return the whole environment of a run, later layers winning.

    Args:
        environment: The daemon's own.
        host_env: Variables of the daemon that the binding's pass_env names.
        config_env: The binding's plain values.
        secret_env: Resolved secret values by variable.
    """
    return {**baseline(environment), **host_env, **config_env, **secret_env}

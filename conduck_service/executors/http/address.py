"""Where a request goes: the server of a connection, straight or through a proxy."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from conduck_service.extension.late import late

_PORTS = {"http": 80, "https": 443}

_is_excepted = late("urllib.request:proxy_bypass_environment")


class ProxyError(Exception):
    """Raised when the variables name a proxy that cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """An HTTP proxy.

    Attributes:
        credentials: Value of ``Proxy-Authorization``; empty without any.
    """

    host: str
    port: int
    credentials: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One address of a server.

    Attributes:
        is_secure: Whether TLS is spoken.
        host: Without brackets.
        port: As a number, the scheme's own when the URL has none.
        authority: What the ``Host`` header says.
        path: What is asked for there.
    """

    is_secure: bool
    host: str
    port: int
    authority: str
    path: str

    @classmethod
    def below(cls, base_url: str, path: str) -> Address:
        """Return the address of a path below a base URL that was checked."""
        parts = urlsplit(base_url)
        return cls(
            is_secure=parts.scheme == "https",
            host=parts.hostname or "",
            port=parts.port or _PORTS[parts.scheme],
            authority=parts.netloc,
            path=f"{parts.path.rstrip('/')}/{path}",
        )


def proxy_for(address: Address, variables: Mapping[str, str]) -> Proxy | None:
    """Return the proxy that variables name for a server, if they name one.

    Only variables that the binding's ``pass_env`` grants are looked at
    (B-EXECUTOR-04). What is on this machine is never asked through a proxy.

    Args:
        address: Of the server.
        variables: Such as ``HTTPS_PROXY``; lower-case names come first, as for
            most programs.

    Raises:
        ProxyError: The proxy is none that speaks HTTP.
    """
    named = _first(variables, "https_proxy" if address.is_secure else "http_proxy")
    named = named or _first(variables, "all_proxy")
    if not named or _is_loopback(address.host):
        return None
    no_proxy = {"no": _first(variables, "no_proxy")}
    if _is_excepted(f"{address.host}:{address.port}", no_proxy):
        return None
    try:
        parts = urlsplit(named if "://" in named else f"http://{named}")
        if parts.scheme != "http" or not parts.hostname:
            raise ProxyError
        return Proxy(
            host=parts.hostname,
            port=parts.port or _PORTS["http"],
            credentials=_credentials(parts),
        )
    except ValueError:
        raise ProxyError from None


def _credentials(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + base64.b64encode(pair.encode("utf-8")).decode("ascii")


def _first(variables: Mapping[str, str], name: str) -> str:
    return variables.get(name) or variables.get(name.upper()) or ""


def _is_loopback(host: str) -> bool:
    if host.lower().rstrip(".") == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

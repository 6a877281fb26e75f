"""Addresses that the app accepts, and why it does not accept the others.

The app lives on Apple's systems, which let it speak plain HTTP only to what is by its
spelling a machine of the same network, and the app refuses what could be read in two
ways. It rejects a whole code because of one such address, so none gets into a code.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from enum import Enum
from typing import NoReturn
from urllib.parse import SplitResult, urlsplit

from conduck_service.pairing.refusal import RefusedError

_UNFIT = re.compile(r"[^!-~]|[\\\"<>^`{|}]")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ROUTE = re.compile(r"/v1(/models|/chat(/completions)?)?/*")
_LONGEST_NAME = 253

_PRIVATE = tuple(
    map(
        ipaddress.ip_network,
        (
            "127.0.0.0/8",
            "10.0.0.0/8",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "169.254.0.0/16",
            "::1/128",
            "fc00::/7",
            "fe80::/10",
        ),
    )
)
_OVERLAY = ipaddress.ip_network("100.64.0.0/10")
"""What Tailscale gives to its machines; the phone takes it for public."""

_SPELLINGS = (
    "write https://, or this machine's IP address in its own network, or its name "
    "that ends in .local"
)

_NO_HOST = "there is no host in it, or none that can exist"

_Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


class Reach(Enum):
    """From where an address can be reached at all."""

    ANYWHERE = "anywhere"
    NETWORK = "network"
    MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class Address:
    """An address that the app accepts.

    Attributes:
        text: As it goes into the code: without a slash at its end.
        host: In small letters, without brackets.
        reach: From where it can be reached at all, by its spelling.
    """

    text: str
    host: str
    reach: Reach


def chat_address(text: str) -> Address:
    """Return the address of chat, as the app wants it: without ``/v1``.

    Raises:
        RefusedError: The app does not accept it.
    """
    found = admissible(text)
    path = urlsplit(found.text).path
    tail = re.search(_ROUTE.pattern + "$", path)
    if tail:
        base = found.text.removesuffix(path) + path[: tail.start()]
        raise RefusedError(
            "url_route", "the app adds /v1 and the rest by itself", f"write {base}"
        )
    return found


def admissible(text: str) -> Address:
    """Return an address in the form that goes into a code.

    Raises:
        RefusedError: The app does not accept it.
    """
    parts = _split(text)
    host, ip = _host(parts)
    reach = _reach(parts.scheme, host, ip)
    shown = f"[{host}]" if isinstance(ip, ipaddress.IPv6Address) else host
    port = f":{parts.port}" if parts.port is not None else ""
    path = parts.path.rstrip("/")
    return Address(f"{parts.scheme}://{shown}{port}{path}", host, reach)


def _split(text: str) -> SplitResult:
    if _UNFIT.search(text):
        raise RefusedError(
            "url_characters",
            "it holds a character that no address has",
            "write plain ASCII; a name with other letters has a form with xn--",
        )
    try:
        parts = urlsplit(text)
    except ValueError:
        _refuse_host(_NO_HOST)
    if parts.scheme not in {"http", "https"}:
        raise RefusedError(
            "url_scheme", "it does not begin with https://", "write https:// and a host"
        )
    if "@" in parts.netloc:
        raise RefusedError(
            "url_credentials",
            "it holds a user or a password",
            "leave them out; the code carries token and password by itself",
        )
    if "?" in text or "#" in text:
        raise RefusedError(
            "url_query",
            "it has a question mark or a # in it",
            "write the base address only",
        )
    try:
        is_port = parts.port != 0 and not parts.netloc.endswith(":")
    except ValueError:
        is_port = False
    if not is_port:
        raise RefusedError(
            "url_port", "its port is none", "write a number from 1 to 65535, or none"
        )
    return parts


def _host(parts: SplitResult) -> tuple[str, _Ip | None]:
    """Return the host as it is written in a code, and its number if it is one."""
    # One dot at the end means the same name, and no certificate names it so.
    host = (parts.hostname or "").removesuffix(".")
    if "[" in parts.netloc and ":" not in host:
        _refuse_host("brackets belong around an IPv6 address only")
    if ":" in host:
        return _six(host)
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        return host, _four(host)
    labels = host.split(".")
    if len(host) > _LONGEST_NAME or not all(map(_LABEL.fullmatch, labels)):
        _refuse_host(_NO_HOST)
    return host, None


def _six(host: str) -> tuple[str, _Ip]:
    try:
        ip = ipaddress.IPv6Address(host)
    except ValueError:
        _refuse_host(_NO_HOST)
    if ip.scope_id:
        _refuse_host("the part behind % names an interface of one machine only")
    return str(ip), ip


def _four(host: str) -> _Ip:
    try:
        return ipaddress.IPv4Address(host)
    except ValueError:
        raise RefusedError(
            "url_number",
            "its number can be read in more than one way, or is none",
            "write it as four numbers with dots, such as 192.168.1.20",
        ) from None


def _refuse_host(reason: str) -> NoReturn:
    raise RefusedError("url_host", reason, "write https:// and the host's name")


def _reach(scheme: str, host: str, ip: _Ip | None) -> Reach:
    if ip is not None and ip.is_unspecified:
        _refuse_host("it is the address of no machine")
    if host == "localhost" or (ip is not None and ip.is_loopback):
        return Reach.MACHINE
    is_private = ip is not None and any(ip in network for network in _PRIVATE)
    if is_private or host.endswith(".local"):
        return Reach.NETWORK
    if scheme == "http":
        _refuse_plain(host, ip)
    return Reach.ANYWHERE


def _refuse_plain(host: str, ip: _Ip | None) -> NoReturn:
    if ip is not None and ip in _OVERLAY:
        raise RefusedError(
            "url_overlay",
            "the phone speaks no http:// to an address of Tailscale",
            "write the https:// address that tailscale serve gives",
        )
    if ip is None and "." not in host:
        raise RefusedError(
            "url_single_label",
            "a name of one word can lead anywhere, so the app does not speak http:// "
            "to it",
            _SPELLINGS,
        )
    raise RefusedError(
        "url_not_private",
        "the app speaks http:// only within its own network",
        _SPELLINGS,
    )

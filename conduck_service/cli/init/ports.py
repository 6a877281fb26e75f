"""Which ports ``init`` takes: the usual ones, or the next that are free."""

from __future__ import annotations

import socket

import click

CHAT_PORT = 8480
FILES_PORT = 8481

_HOST = "127.0.0.1"
_LAST = 65_534


def choose_ports(chat: int | None, files: int | None) -> tuple[int, int]:
    """Return a port for chat and one for files, both free at the moment.

    Args:
        chat: The one that was named, if any.
        files: Likewise.

    Raises:
        click.UsageError: A named one is taken, or both are the same.
    """
    if chat is not None and chat == files:
        raise click.UsageError("chat and files need a port each")
    for port, option in ((chat, "--chat-port"), (files, "--files-port")):
        if port is not None and not _is_free(port):
            free = " and ".join(map(str, _free_pair()))
            raise click.UsageError(f"{option}: port {port} is taken; {free} are free")
    if chat is None and files is None:
        found = _free_pair()
        if found != (CHAT_PORT, FILES_PORT):
            click.echo(
                f"Port {CHAT_PORT} or {FILES_PORT} is taken; {found[0]} and {found[1]} "
                "take their place.",
                err=True,
            )
        return found
    chat = chat or _next_free(CHAT_PORT, files)
    return chat, files or _next_free(FILES_PORT, chat)


def _free_pair() -> tuple[int, int]:
    for port in range(CHAT_PORT, _LAST, 2):
        if _is_free(port) and _is_free(port + 1):
            return port, port + 1
    raise click.UsageError("no two ports are free; name them")


def _next_free(first: int, other: int | None) -> int:
    for port in range(first, _LAST):
        if port != other and _is_free(port):
            return port
    raise click.UsageError("no port is free; name one")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the service does it: connections that have ended hold no port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
    return True

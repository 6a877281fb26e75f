"""A connection to a server that another thread can cut at any moment."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from functools import cache

from conduck_service.executors.http.address import Address, Proxy


class LinkError(Exception):
    """Raised when a connection cannot be made; the text says why, in a few words."""


@cache
def _tls() -> ssl.SSLContext:
    """Return how TLS is spoken: certificates are checked, by the system's own list.

    It is made once, since reading that list takes longer than a short turn.
    """
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class Link:
    """A connection that is made by one thread and may be cut by another one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sock: socket.socket | None = None
        self._is_cut = False

    def open(
        self, address: Address, proxy: Proxy | None, seconds: float
    ) -> socket.socket:
        """Return a connected socket without a timeout; it stays the link's.

        Args:
            address: Of the server.
            proxy: What to go through.
            seconds: For all of it, TLS and the proxy's consent included; a name
                that is slow to look up may take longer.

        Raises:
            LinkError: It could not be made, or was cut meanwhile.
        """
        end = time.monotonic() + seconds
        try:
            goal = (proxy.host, proxy.port) if proxy else (address.host, address.port)
            sock = self._connect(*goal, end)
            if address.is_secure:
                if proxy is not None:
                    _ask_proxy(sock, address, proxy)
                sock = self._secure(sock, address.host, end)
        except TimeoutError:
            raise LinkError("no connection in time") from None
        except ssl.SSLCertVerificationError:
            raise LinkError("the certificate is not accepted") from None
        except (OSError, http.client.HTTPException):
            raise LinkError("no connection") from None
        sock.settimeout(None)
        return sock

    def cut(self) -> None:
        """End the connection under whoever uses it, or before it is there."""
        with self._lock:
            self._is_cut = True
            if self._sock is not None:
                with contextlib.suppress(OSError):
                    # Not the method of a TLS socket, which is not made for another
                    # thread than the one that reads.
                    socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the socket back; called by the thread that opened it."""
        with self._lock:
            sock, self._sock = self._sock, None
        if sock is not None:
            sock.close()

    def _connect(self, host: str, port: int, end: float) -> socket.socket:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise LinkError("the name of the server is not known") from None
        problem: OSError = ConnectionRefusedError()
        for index, (family, kind, protocol, _, goal) in enumerate(found):
            sock = self._hold(socket.socket(family, kind, protocol))
            try:
                # An address that does not answer leaves time for the others.
                sock.settimeout(_left(end) / (len(found) - index))
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.connect(goal)
            except OSError as error:
                problem = error
            else:
                sock.settimeout(_left(end))
                return sock
        if isinstance(problem, ConnectionRefusedError):
            raise LinkError("the connection was refused")
        raise problem

    def _secure(self, sock: socket.socket, host: str, end: float) -> socket.socket:
        secured = _tls().wrap_socket(
            sock, server_hostname=host, do_handshake_on_connect=False
        )
        self._hold(secured)
        secured.settimeout(_left(end))
        secured.do_handshake()
        return secured

    def _hold(self, sock: socket.socket) -> socket.socket:
        """Keep a socket in place of the one before, unless the link was cut."""
        with self._lock:
            before, self._sock = self._sock, sock
            is_cut = self._is_cut
        if before is not None and before is not sock:
            before.close()
        if is_cut:
            raise LinkError("the turn has ended")
        return sock


def _left(end: float) -> float:
    return max(0.001, end - time.monotonic())


def _ask_proxy(sock: socket.socket, address: Address, proxy: Proxy) -> None:
    """Let a proxy connect us to a server.

    Raises:
        LinkError: It does not.
    """
    host = f"[{address.host}]" if ":" in address.host else address.host
    goal = f"{host}:{address.port}"
    lines = [f"CONNECT {goal} HTTP/1.1", f"Host: {goal}"]
    if proxy.credentials:
        lines.append(f"Proxy-Authorization: {proxy.credentials}")
    sock.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
    answer = http.client.HTTPResponse(sock, method="CONNECT")
    try:
        answer.begin()
        if answer.status != 200:
            raise LinkError(f"the proxy answered with status {answer.status}")
    finally:
        answer.close()

"""One request and its response, ended at once when the turn has to end."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from conduck_service.domain.execution import FailureCode
from conduck_service.executors.http.address import Address, Proxy
from conduck_service.executors.http.link import Link, LinkError
from conduck_service.executors.http.stream import END

TICK_SECONDS = 0.05
"""Between two looks at whether the turn has to end."""

_PIECE = 65_536
_MOST_OF_AN_ERROR = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A POST.

    Attributes:
        address: Where to.
        proxy: What to send it through.
        headers: All but those that frame the body.
        body: What is sent.
        connect_seconds: Longest time until the connection stands.
        max_response_bytes: Most bytes that are read of the body.
    """

    address: Address
    proxy: Proxy | None = None
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    connect_seconds: float
    max_response_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What came back; of other statuses than 200 only the begin of a 400's body."""

    status: int
    body: bytes = field(default=b"", repr=False)


class ExchangeError(Exception):
    """Raised when there is no whole response.

    Attributes:
        code: Why.
        detail: A few words for the log; nothing that somebody wrote.
    """

    def __init__(self, code: FailureCode, detail: str = "") -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail


def exchange(
    request: Request, interrupted: Callable[[], FailureCode | None]
) -> Response:
    """Send a request and return its response.

    The exchange has a thread of its own, so that the turn can end whatever the
    server does: it may say nothing, or a byte now and then, for ever. The
    connection is shut at that moment, which servers take as the end of the work.
    Redirects are not followed: who answers with one would get the key elsewhere.

    Raises:
        ExchangeError: There is none, or the turn has to end.
    """
    under_way = _UnderWay(request)
    thread = threading.Thread(target=under_way.run, name="upstream", daemon=True)
    thread.start()
    while not under_way.ended.wait(TICK_SECONDS):
        if (code := interrupted()) is not None:
            under_way.link.cut()
            raise ExchangeError(code)
    result = under_way.result
    if isinstance(result, Response):
        return result
    raise result


class _UnderWay:
    """An exchange in its thread."""

    def __init__(self, request: Request) -> None:
        self.link = Link()
        self.ended = threading.Event()
        self.result: Response | Exception = ExchangeError(FailureCode.ENGINE_ERROR)
        self._request = request

    def run(self) -> None:
        """Do it; ``result`` holds the end then."""
        try:
            self.result = self._exchange()
        except LinkError as error:
            self.result = ExchangeError(FailureCode.CANNOT_START, str(error))
        except (OSError, http.client.HTTPException):
            # C-RESP-18
            self.result = ExchangeError(
                FailureCode.ENGINE_ERROR, "the connection broke"
            )
        except Exception as error:
            # A defect; it is raised again in the thread of the turn.
            self.result = error
        finally:
            self.link.close()
            self.ended.set()

    def _exchange(self) -> Response:
        request = self._request
        sock = self.link.open(request.address, request.proxy, request.connect_seconds)
        connection = http.client.HTTPConnection("upstream", 80)  # it is there already
        connection.sock = sock
        self._send(connection)
        with connection.getresponse() as response:
            return _read(response, request.max_response_bytes)

    def _send(self, connection: http.client.HTTPConnection) -> None:
        request = self._request
        target = request.address.path
        # Over TLS the proxy only connects, and sees nothing of this.
        proxy = None if request.address.is_secure else request.proxy
        if proxy is not None:
            target = f"http://{request.address.authority}{target}"
        connection.putrequest("POST", target, skip_host=True)
        connection.putheader("Host", request.address.authority)
        for name, value in request.headers.items():
            connection.putheader(name, value)
        if proxy is not None and proxy.credentials:
            connection.putheader("Proxy-Authorization", proxy.credentials)
        connection.putheader("Connection", "close")
        connection.putheader("Content-Length", str(len(request.body)))
        connection.endheaders(request.body)


def _read(response: http.client.HTTPResponse, limit: int) -> Response:
    if response.status == 400:
        return Response(status=400, body=response.read(_MOST_OF_AN_ERROR))
    if response.status != 200:
        return Response(status=response.status)
    # Counted here: early Pythons 3.11 do not keep account of pieces themselves.
    declared = response.length
    if (declared or 0) > limit:
        raise ExchangeError(FailureCode.OUTPUT_LIMIT)
    body = bytearray()
    while len(body) != declared and (piece := response.read1(_PIECE)):
        body += piece
        if len(body) > limit:
            raise ExchangeError(FailureCode.OUTPUT_LIMIT)
        # The mark may be split over two pieces.
        start = max(0, len(body) - len(piece) - 32)
        if body.find(b"[DONE]", start) >= 0 and END.search(body, start):
            return Response(status=200, body=bytes(body))
    if declared is not None and len(body) < declared:
        raise http.client.IncompleteRead(b"", declared - len(body))
    return Response(status=200, body=bytes(body))

"""The environ of a request, as PEP 3333 wants it."""

from __future__ import annotations

import functools
import io
import socket
import sys
from typing import Any

from conduck_service.serving.body import Body
from conduck_service.serving.framing import Head
from conduck_service.serving.peer import has_left

SOFTWARE = "conduck-service"

# Bodies are read within their limits through conduck.body; an application that
# goes past it fails instead of finding nothing.
_NO_INPUT = io.BytesIO()
_NO_INPUT.close()

# Headers that have a variable of another name, or none.
_OTHER_NAMES = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}
_UNSAID = frozenset({"expect"})


def common_environ(port: int) -> dict[str, Any]:
    """Return what is the same for every request to this port."""
    return {
        "REMOTE_ADDR": "",
        "REMOTE_PORT": "",
        "SCRIPT_NAME": "",
        "SERVER_NAME": SOFTWARE,
        "SERVER_PORT": str(port),
        "SERVER_SOFTWARE": SOFTWARE,
        "wsgi.errors": sys.stderr,
        "wsgi.input": _NO_INPUT,
        "wsgi.multiprocess": False,
        "wsgi.multithread": True,
        "wsgi.run_once": False,
        "wsgi.url_scheme": "http",
        "wsgi.version": (1, 0),
    }


def request_environ(
    common: dict[str, Any], head: Head, body: Body, sock: socket.socket
) -> dict[str, Any]:
    """Return the environ of one request, for the application to do as it likes with.

    Args:
        common: What ``common_environ`` has returned.
        head: The request line and headers; several of one name become one value.
        body: Is handed on as ``conduck.body``.
        sock: The connection that ``conduck.client_gone`` looks at.
    """
    environ = common.copy()
    environ["REQUEST_METHOD"] = head.method
    environ["REQUEST_URI"] = head.target
    environ["PATH_INFO"] = head.path.decode("latin-1")
    environ["QUERY_STRING"] = head.query
    environ["SERVER_PROTOCOL"] = head.version
    environ["wsgi.input_terminated"] = body.chunked
    environ["conduck.body"] = body
    environ["conduck.client_gone"] = functools.partial(has_left, sock)
    for name, value in head.headers:
        if name in _UNSAID:
            continue
        key = _variable(name)
        text = value.decode("latin-1")
        environ[key] = f"{environ[key]}, {text}" if key in environ else text
    return environ


@functools.lru_cache(maxsize=256)
def _variable(header: str) -> str:
    return _OTHER_NAMES.get(header) or "HTTP_" + header.upper().replace("-", "_")

"""The chat listener: who has its port, who is let in, what it takes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from conduck_service.base.ports import holder_of
from conduck_service.chat.settings import MIN_BODY_BYTES
from conduck_service.doctor.context import (
    NEEDS_SERVICE,
    Chat,
    DoctorContext,
    Listener,
    NotMadeError,
)
from conduck_service.doctor.finding import Declared, Finding, Level
from conduck_service.doctor.peer import Peer, PeerError, Reply, Silence
from conduck_service.doctor.run import Area, Check

MODELS = "/v1/models"
COMPLETIONS = "/v1/chat/completions"
JSON = {"Content-Type": "application/json", "Accept": "application/json"}

_WRONG = "conduck-doctor-wrong-token"
_QUESTION = b'{"messages":[{"role":"user","content":"Reply with exactly: pong"}]}'

CHAT_PORT_TAKEN = Declared(
    code="chat_port_taken",
    level=Level.FAIL,
    text="another program has the port of the chat listener",
    remedy="end that program, or set another port in the config; if it is this very "
    "service with its state elsewhere, name that with --data-dir",
)
CHAT_SILENT = Declared(
    code="chat_silent",
    level=Level.FAIL,
    text="the service runs, but nobody listens on the port of the chat listener",
    remedy="start the service anew: it was started with another config",
    depends_on=("service_down", "config_newer", "chat_port_taken"),
)
_REACHED = ("chat_silent", "service_down", "chat_port_taken")
CHAT_OPEN = Declared(
    code="chat_open",
    level=Level.FAIL,
    text="the chat listener lets in without its token",
    remedy="take it off the network at once, and report this as a fault",
    depends_on=_REACHED,
)
CHAT_KEEPS_BODY = Declared(
    code="chat_keeps_body",
    level=Level.FAIL,
    text="a refused request leaves its body on the connection, so that the next one "
    "fails",
    remedy="report this as a fault of the service",
    depends_on=(*_REACHED, "chat_open"),
)
CHAT_TOKEN_REFUSED = Declared(
    code="chat_token_refused",
    level=Level.FAIL,
    text="the running service does not take the token of this config",
    remedy="start the service anew; its log says a secret is not available when it "
    "could not read the token",
    depends_on=(*_REACHED, "config_newer"),
)
CHAT_MODELS_SHAPE = Declared(
    code="chat_models_shape",
    level=Level.FAIL,
    text="the list of models is not what the app can read",
    remedy="report this as a fault of the service",
    depends_on=(*_REACHED, "chat_token_refused"),
)
CHAT_MODELS_DIFFER = Declared(
    code="chat_models_differ",
    level=Level.WARN,
    text="the running service lists other models than this config",
    remedy="start the service anew, or name its config with --config",
    depends_on=(*_REACHED, "config_newer", "chat_token_refused", "chat_models_shape"),
)
CHAT_BODY_REFUSED = Declared(
    code="chat_body_refused",
    level=Level.FAIL,
    text="a request as large as twenty photos is not taken",
    remedy="look at the memory of the machine and at ulimit; the log says more",
    depends_on=(*_REACHED, "chat_token_refused"),
)


def state_of_port(context: DoctorContext, listener: Listener) -> str:
    """Return ``ours``, ``silent``, or who has the port.

    Where the system does not tell the owner, the answer does: nobody else refuses
    a stranger in the words of this service.
    """
    try:
        reply = listener.peer.ask("GET", MODELS, seconds=5)
    except PeerError as error:
        if error.why is Silence.NOBODY:
            return "silent"
        return _stranger(listener.port)
    is_on = context.service.is_on(listener.port) if context.service else None
    if is_on is not None:
        return "ours" if is_on else holder_of(listener.port)
    is_like_ours = reply.status == 401 and (
        reply.error is not None
        if isinstance(listener, Chat)
        else "conduck" in reply.headers.get("www-authenticate", "")
    )
    if context.service is not None and is_like_ours:
        return "ours"
    return _stranger(listener.port)


def _stranger(port: int) -> str:
    """Return who has a port, or how to find that out."""
    return holder_of(port) or f"not the service; lsof -nP -iTCP:{port} shows who"


def look_at_port(
    taken: Declared, silent: Declared, context: DoctorContext, listener: Listener
) -> Iterator[Finding]:
    """Yield what is wrong with the port of a listener."""
    found = state_of_port(context, listener)
    if found == "silent":
        if context.service is not None:
            yield silent.found(listener.subject, f"port {listener.port}")
    elif found != "ours":
        yield taken.found(listener.subject, f"port {listener.port}: {found}")


def _look_at_port(context: DoctorContext, chat: Chat) -> Iterator[Finding]:
    return look_at_port(CHAT_PORT_TAKEN, CHAT_SILENT, context, chat)


def _look_at_gate(context: DoctorContext, chat: Chat) -> Iterator[Finding]:
    """Knock at every door without a token and with a wrong one; no turn is begun."""
    _check_running(context)
    for peer in (chat.peer, chat.peer.with_token(_WRONG)):
        doors = (("GET", MODELS, None), ("POST", COMPLETIONS, _QUESTION))
        for method, path, body in (*doors, ("GET", "/conduck-doctor", None)):
            reply = ask(peer, method, path, body)
            if reply.status != 401:
                yield CHAT_OPEN.found(
                    chat.subject, f"{method} {path} is answered with {reply.status}"
                )


def _look_at_closing(context: DoctorContext, chat: Chat) -> Iterator[Finding]:
    _check_running(context)
    if not is_body_forgotten(chat.peer.with_token(_WRONG)):
        yield CHAT_KEEPS_BODY.found(chat.subject)


def is_body_forgotten(peer: Peer) -> bool:
    """Say whether two refused requests on one connection are refused alike."""
    with contextlib.closing(peer.connect()) as connection:
        try:
            first = peer.exchange(connection, "POST", COMPLETIONS, _QUESTION, JSON)
        except PeerError as error:
            raise NotMadeError(str(error)) from None
        if first.headers.get("connection", "").lower() == "close":
            return True
        with contextlib.suppress(PeerError):
            second = peer.exchange(connection, "POST", COMPLETIONS, _QUESTION, JSON)
            return first.status == second.status
    return True


def _look_at_models(context: DoctorContext, chat: Chat) -> Iterator[Finding]:
    _check_running(context)
    reply = ask(context.signed_in(chat), "GET", MODELS)
    if reply.status == 401:
        yield CHAT_TOKEN_REFUSED.found(chat.subject)
        return
    ids = model_ids(reply)
    if not ids:
        yield CHAT_MODELS_SHAPE.found(chat.subject, f"status {reply.status}")
    elif ids != [model.id for model in chat.config.models]:
        yield CHAT_MODELS_DIFFER.found(chat.subject)


def model_ids(reply: Reply) -> list[str]:
    """Return the ids of a list of models; none when it is not one."""
    value = reply.json
    data = value.get("data") if isinstance(value, dict) else None
    if reply.status != 200 or not isinstance(data, list):
        return []
    if reply.media_type != "application/json":
        return []
    ids = [item.get("id") for item in data if isinstance(item, dict)]
    return [item for item in ids if isinstance(item, str) and item]


def large_body(size: int) -> bytes:
    """Return a request of a size that is read whole and then refused: no turn."""
    head, tail = b'{"messages":[],"conduck_doctor":"', b'"}'
    return head + b"x" * (size - len(head) - len(tail)) + tail


def _look_at_body(context: DoctorContext, chat: Chat) -> Iterator[Finding]:
    _check_running(context)
    peer = context.signed_in(chat)
    body = large_body(MIN_BODY_BYTES)
    reply = ask(peer, "POST", COMPLETIONS, body, seconds=120)
    if reply.status not in {400, 401}:
        yield CHAT_BODY_REFUSED.found(chat.subject, f"status {reply.status}")


def ask(
    peer: Peer,
    method: str,
    path: str,
    body: bytes | None = None,
    seconds: float = 30,
) -> Reply:
    """Return the answer of a listener that was there a moment ago.

    Raises:
        NotMadeError: There is none.
    """
    try:
        headers = JSON if body else {}
        return peer.ask(method, path, body, headers=headers, seconds=seconds)
    except PeerError as error:
        raise NotMadeError(str(error)) from None


def _check_running(context: DoctorContext) -> None:
    if context.service is None:
        raise NotMadeError(NEEDS_SERVICE)


def _chats(context: DoctorContext) -> list[Chat]:
    return context.chats


CHAT: Area[Chat] = Area(
    "chat",
    _chats,
    (
        Check(
            "port",
            "the port is the service's, or free",
            (CHAT_PORT_TAKEN, CHAT_SILENT),
            _look_at_port,
        ),
        Check(
            "gate",
            "nobody is let in without the token",
            (CHAT_OPEN,),
            _look_at_gate,
            _REACHED,
        ),
        Check(
            "closing",
            "a refused request leaves nothing behind",
            (CHAT_KEEPS_BODY,),
            _look_at_closing,
            _REACHED,
        ),
        Check(
            "models",
            "the token opens it, and the models are those of the config",
            (CHAT_TOKEN_REFUSED, CHAT_MODELS_SHAPE, CHAT_MODELS_DIFFER),
            _look_at_models,
            _REACHED,
        ),
        Check(
            "body",
            "a request as large as twenty photos is taken",
            (CHAT_BODY_REFUSED,),
            _look_at_body,
            (*_REACHED, "chat_token_refused"),
        ),
    ),
)

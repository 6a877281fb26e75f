"""The addresses at which the app reaches the service, through whatever stands there."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from conduck_service.doctor.checks.chat import (
    COMPLETIONS,
    JSON,
    MODELS,
    is_body_forgotten,
    large_body,
    model_ids,
)
from conduck_service.doctor.checks.lane_trial import Trial
from conduck_service.doctor.checks.public_findings import (
    ANSWERED,
    CAUSES,
    PUBLIC_BODY_LIMIT,
    PUBLIC_DIFFERS,
    PUBLIC_HOST_REFUSED,
    PUBLIC_KEEPS_BODY,
    PUBLIC_LOGIN_LOST,
    PUBLIC_METHODS,
    PUBLIC_NO_NAME,
    PUBLIC_OTHER_LOGIN,
    PUBLIC_SILENT,
    PUBLIC_STALE,
    PUBLIC_TLS,
    PUBLIC_TURN,
    PUBLIC_UNREACHABLE,
)
from conduck_service.doctor.context import (
    NEEDS_SERVICE,
    Chat,
    DoctorContext,
    Lane,
    Listener,
    NotMadeError,
)
from conduck_service.doctor.finding import Finding
from conduck_service.doctor.peer import Peer, PeerError, Reply, Silence
from conduck_service.doctor.run import Area, Check
from conduck_service.doctor.turns import PONG, answer_of, ask_turn, has_pong, user

L = TypeVar("L", bound=Listener)

_LIMIT_BYTES = 20 << 20
_FRONT_FAILED = range(500, 600)
_ELSEWHERE = range(300, 400)
_ABSENT = "/__conduck_absent_0123456789abcdef"
_SILENT = {
    Silence.NO_NAME: PUBLIC_NO_NAME,
    Silence.TLS: PUBLIC_TLS,
    Silence.TIMEOUT: PUBLIC_SILENT,
}


@dataclass(frozen=True, slots=True)
class Address:
    """A public address, with the listener that it is to lead to."""

    subject: str
    peer: Peer
    listener: Listener
    path: str

    @property
    def related(self) -> tuple[str, ...]:
        """That of the listener."""
        return (self.listener.subject,)

    def signed_in(self, context: DoctorContext) -> Peer:
        """Return the address as the app asks it."""
        local = context.signed_in(self.listener)
        return Peer(self.peer.base, local.authorization)


def _addresses(context: DoctorContext) -> Sequence[Address]:
    public = context.public
    found = []
    chat = _chosen(context.chats, public.scope)
    lane = _chosen(context.lanes, "")
    if public.scope:
        lane = context.lane_of(chat.scope) if chat else None
    if public.chat and chat:
        found.append(Address("public/chat", Peer(public.chat), chat, MODELS))
    if public.lane and lane:
        found.append(Address("public/files", Peer(public.lane), lane, _ABSENT))
    return found


def _chosen(listeners: Sequence[L], scope: str) -> L | None:
    return next((x for x in listeners if scope in {"", x.scope.id}), None)


def _look_at_answer(context: DoctorContext, address: Address) -> Iterator[Finding]:
    """Compare what a stranger is told here and there."""
    if context.service is None:
        raise NotMadeError(NEEDS_SERVICE)
    try:
        reply = address.peer.ask("GET", address.path)
    except PeerError as error:
        what = _SILENT.get(error.why, PUBLIC_UNREACHABLE)
        detail = error.detail if error.why in _SILENT else str(error)
        yield what.found(address.subject, detail)
        return
    is_ours = reply.status == 401 and reply.body == _local(address).body
    detail = f"status {reply.status}"
    if reply.status in _FRONT_FAILED:
        yield PUBLIC_STALE.found(address.subject, detail)
    elif reply.status == 403:
        yield PUBLIC_HOST_REFUSED.found(address.subject, detail)
    elif reply.status in _ELSEWHERE or (reply.status == 401 and not is_ours):
        yield PUBLIC_OTHER_LOGIN.found(address.subject, detail)
    elif not is_ours:
        yield PUBLIC_DIFFERS.found(address.subject, detail)


def _local(address: Address) -> Reply:
    try:
        return address.listener.peer.ask("GET", address.path)
    except PeerError as error:
        raise NotMadeError(str(error)) from None


def _look_at_pass(context: DoctorContext, address: Address) -> Iterator[Finding]:
    """Sign in through the front, and compare what is answered."""
    local, peer = context.signed_in(address.listener), address.signed_in(context)
    try:
        here, there = (x.ask("GET", address.path) for x in (local, peer))
    except PeerError as error:
        raise NotMadeError(str(error)) from None
    if there.status == 401 != here.status:
        yield PUBLIC_LOGIN_LOST.found(address.subject)
    elif here.status != there.status or model_ids(here) != model_ids(there):
        yield PUBLIC_DIFFERS.found(address.subject, f"status {there.status}")


def _look_at_body(context: DoctorContext, address: Address) -> Iterator[Finding]:
    peer = address.signed_in(context)
    if isinstance(address.listener, Chat):
        if not is_body_forgotten(address.peer.with_token("conduck-doctor-wrong-token")):
            yield PUBLIC_KEEPS_BODY.found(address.subject)
        asked = ("POST", COMPLETIONS, large_body(_LIMIT_BYTES), {400})
    else:
        asked = ("PUT", *_large_file(address.listener), {200, 201, 204})
    method, path, body, wanted = asked
    try:
        reply = peer.ask(method, path, body, headers=JSON, seconds=300)
    except PeerError as error:
        yield PUBLIC_BODY_LIMIT.found(address.subject, str(error))
        return
    finally:
        if method == "PUT":
            with contextlib.suppress(PeerError):
                context.signed_in(address.listener).ask("DELETE", path)
    if reply.status not in wanted:
        yield PUBLIC_BODY_LIMIT.found(address.subject, f"status {reply.status}")


def _large_file(listener: Listener) -> tuple[str, bytes]:
    assert isinstance(listener, Lane)
    size = min(_LIMIT_BYTES, listener.config.max_upload_bytes)
    return f"/__conduck_probe_{secrets.token_hex(4)}_large.bin", bytes(size)


def _look_at_methods(context: DoctorContext, address: Address) -> Iterator[Finding]:
    """Do through the front what the app's own test of the lane does."""
    if not isinstance(address.listener, Lane):
        raise NotMadeError("chat has two routes only")
    trial = Trial(address.listener, address.signed_in(context))
    try:
        for finding in trial.findings():
            yield PUBLIC_METHODS.found(address.subject, finding.message)
            return
    except PeerError as error:
        yield PUBLIC_METHODS.found(address.subject, str(error))
    finally:
        trial.clear()


def _look_at_turn(context: DoctorContext, address: Address) -> Iterator[Finding]:
    if not isinstance(address.listener, Chat):
        raise NotMadeError("files need no turn")
    if not context.may_turn:
        raise NotMadeError("it asks for a turn (--turn)")
    model = address.listener.config.default_id
    try:
        reply = ask_turn(address.signed_in(context), [user(PONG)], model=model)
    except PeerError as error:
        yield PUBLIC_TURN.found(address.subject, str(error))
        return
    answer = answer_of(reply)
    if answer is None:
        words = f"status {reply.status} {reply.code}".strip()
        yield PUBLIC_TURN.found(address.subject, words)
    elif not has_pong(answer):
        yield PUBLIC_TURN.found(address.subject, "the answer is another one")


PUBLIC: Area[Address] = Area(
    "public",
    _addresses,
    (
        Check(
            "answer",
            "strangers are refused there as here",
            (
                PUBLIC_NO_NAME,
                PUBLIC_TLS,
                PUBLIC_SILENT,
                PUBLIC_UNREACHABLE,
                PUBLIC_STALE,
                PUBLIC_HOST_REFUSED,
                PUBLIC_OTHER_LOGIN,
                PUBLIC_DIFFERS,
            ),
            _look_at_answer,
            CAUSES,
        ),
        Check(
            "pass",
            "the owner is let in there as here",
            (PUBLIC_DIFFERS, PUBLIC_LOGIN_LOST),
            _look_at_pass,
            ANSWERED,
        ),
        Check(
            "body",
            "a request as large as twenty photos passes",
            (PUBLIC_KEEPS_BODY, PUBLIC_BODY_LIMIT),
            _look_at_body,
            ANSWERED,
        ),
        Check(
            "methods",
            "the file lane does through it what the app asks",
            (PUBLIC_METHODS,),
            _look_at_methods,
            (*ANSWERED, "public_body_limit"),
        ),
        Check(
            "turn",
            "a turn is answered through it",
            (PUBLIC_TURN,),
            _look_at_turn,
            ANSWERED,
        ),
    ),
)
"""A stranger's answer is compared first: no other server is to see a credential."""

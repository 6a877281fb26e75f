"""The addresses at which the app reaches the service, through whatever stands there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conduck_service.doctor.checks.chat import (
    COMPLETIONS,
    JSON,
    MODELS,
    is_body_forgotten,
    large_body,
    model_ids,
)
from conduck_service.doctor.context import (
    NEEDS_SERVICE,
    DoctorContext,
    Listener,
    NotMadeError,
)
from conduck_service.doctor.finding import Declared, Finding, Level
from conduck_service.doctor.peer import Peer, PeerError, Reply
from conduck_service.doctor.run import Area, Check

_CAUSES = ("service_down", "chat_silent", "chat_port_taken")
_LANE_CAUSES = ("service_down", "lane_silent", "lane_port_taken")

PUBLIC_UNREACHABLE = Declared(
    code="public_unreachable",
    level=Level.FAIL,
    text="the public address cannot be reached",
    remedy="see whether the tunnel or the proxy runs and has its certificate",
)
_REACHED = ("public_unreachable", *_CAUSES, *_LANE_CAUSES)
PUBLIC_STALE = Declared(
    code="public_stale",
    level=Level.FAIL,
    text="the public address is answered by a front that does not reach the service",
    remedy="start the tunnel anew and pair with its new address, or correct the port "
    "that the proxy passes on to",
    depends_on=_REACHED,
)
PUBLIC_HOST_REFUSED = Declared(
    code="public_host_refused",
    level=Level.FAIL,
    text="what stands at the public address refuses the request before the service "
    "sees it",
    remedy="let the front pass every request on; the service has a gate of its own",
    depends_on=_REACHED,
)
PUBLIC_DIFFERS = Declared(
    code="public_differs",
    level=Level.FAIL,
    text="the public address does not answer as the service does on this machine",
    remedy="let the front pass on to this service, with the Authorization header",
    depends_on=(*_REACHED, "public_stale", "public_host_refused"),
)
PUBLIC_KEEPS_BODY = Declared(
    code="public_keeps_body",
    level=Level.FAIL,
    text="behind the public address a refused request makes the next one fail",
    remedy="let the front read requests whole before it passes them on",
    depends_on=(*_REACHED, "public_stale", "public_host_refused", "public_differs"),
)
PUBLIC_BODY_LIMIT = Declared(
    code="public_body_limit",
    level=Level.FAIL,
    text="a request as large as twenty photos does not pass the front",
    remedy="raise its limit for bodies to at least 64 MiB (nginx: "
    "client_max_body_size)",
    depends_on=(*_REACHED, "public_stale", "public_host_refused", "public_differs"),
)
_ANSWERED = (*_REACHED, "public_stale", "public_host_refused", "public_differs")
_LIMIT_BYTES = 20 << 20
_FRONT_FAILED = range(500, 600)


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


def _addresses(context: DoctorContext) -> Sequence[Address]:
    chat, lane = context.public
    found = []
    if chat and context.chats:
        listener = context.chats[0]
        found.append(Address("public/chat", Peer(chat), listener, MODELS))
    if lane and context.lanes:
        absent = "/__conduck_absent_0123456789abcdef"
        found.append(Address("public/files", Peer(lane), context.lanes[0], absent))
    return found


def _look_at_answer(context: DoctorContext, address: Address) -> Iterator[Finding]:
    """Compare what a stranger is told here and there."""
    if context.service is None:
        raise NotMadeError(NEEDS_SERVICE)
    try:
        reply = address.peer.ask("GET", address.path)
    except PeerError as error:
        yield PUBLIC_UNREACHABLE.found(address.subject, str(error))
        return
    detail = f"status {reply.status}"
    if reply.status in _FRONT_FAILED:
        yield PUBLIC_STALE.found(address.subject, detail)
    elif reply.status == 403:
        yield PUBLIC_HOST_REFUSED.found(address.subject, detail)
    elif reply.status != 401 or reply.body != _local(address).body:
        yield PUBLIC_DIFFERS.found(address.subject, detail)


def _local(address: Address) -> Reply:
    try:
        return address.listener.peer.ask("GET", address.path)
    except PeerError as error:
        raise NotMadeError(str(error)) from None


def _look_at_pass(context: DoctorContext, address: Address) -> Iterator[Finding]:
    """Sign in through the front, and compare what is answered."""
    local = context.signed_in(address.listener)
    peer = Peer(address.peer.base, local.authorization)
    try:
        here, there = (x.ask("GET", address.path) for x in (local, peer))
    except PeerError as error:
        raise NotMadeError(str(error)) from None
    if here.status != there.status or model_ids(here) != model_ids(there):
        yield PUBLIC_DIFFERS.found(address.subject, f"status {there.status}")


def _look_at_body(context: DoctorContext, address: Address) -> Iterator[Finding]:
    if address.path != MODELS:
        raise NotMadeError("uploads have their own limit")
    if not is_body_forgotten(address.peer.with_token("conduck-doctor-wrong-token")):
        yield PUBLIC_KEEPS_BODY.found(address.subject)
    local = context.signed_in(address.listener)
    peer = Peer(address.peer.base, local.authorization)
    try:
        body = large_body(_LIMIT_BYTES)
        reply = peer.ask("POST", COMPLETIONS, body, headers=JSON, seconds=300)
    except PeerError as error:
        yield PUBLIC_BODY_LIMIT.found(address.subject, str(error))
        return
    if reply.status != 400:
        yield PUBLIC_BODY_LIMIT.found(address.subject, f"status {reply.status}")


PUBLIC: Area[Address] = Area(
    "public",
    _addresses,
    (
        Check(
            "answer",
            "strangers are refused there as here",
            (
                PUBLIC_UNREACHABLE,
                PUBLIC_STALE,
                PUBLIC_HOST_REFUSED,
                PUBLIC_DIFFERS,
            ),
            _look_at_answer,
            (*_CAUSES, *_LANE_CAUSES),
        ),
        Check(
            "pass",
            "the owner is let in there as here",
            (PUBLIC_DIFFERS,),
            _look_at_pass,
            _ANSWERED,
        ),
        Check(
            "body",
            "a request as large as twenty photos passes",
            (PUBLIC_KEEPS_BODY, PUBLIC_BODY_LIMIT),
            _look_at_body,
            _ANSWERED,
        ),
    ),
)

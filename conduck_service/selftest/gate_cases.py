"""Who is let in, and what the two routes refuse."""

from __future__ import annotations

from conduck_service.chat.app import COMPLETIONS, MODELS
from conduck_service.doctor.checks.chat import is_body_forgotten, model_ids
from conduck_service.doctor.peer import Peer
from conduck_service.selftest.case import (
    OURS,
    BrokenError,
    Case,
    Subject,
    expect_closing,
    expect_error,
    expect_status,
)

_WRONG = "conduck-selftest-wrong-token"
_QUESTION = b'{"messages":[{"role":"user","content":"Reply with exactly: pong"}]}'
_MODELS_SECONDS = 15.0


def _strangers(subject: Subject) -> tuple[Peer, Peer]:
    return subject.chat.peer, subject.chat.peer.with_token(_WRONG)


def _models(subject: Subject) -> None:
    reply = subject.owner.ask("GET", MODELS)
    expect_status(reply, 200)
    expect_closing(reply)
    if model_ids(reply) != subject.ids:
        raise BrokenError("the list is not that of the config")
    if reply.seconds > _MODELS_SECONDS:
        raise BrokenError("the app has given up by then")


def _models_gate(subject: Subject) -> None:
    for peer in _strangers(subject):
        expect_error(peer.ask("GET", MODELS), 401)


def _chat_gate(subject: Subject) -> None:
    for peer in _strangers(subject):
        expect_error(subject.post(_QUESTION, peer=peer), 401)


def _unknown_gate(subject: Subject) -> None:
    for peer in _strangers(subject):
        expect_error(peer.ask("GET", "/conduck-selftest"), 401)


def _scheme(subject: Subject) -> None:
    value = subject.owner.authorization
    scheme, _, token = value.partition(" ")
    lower = Peer(subject.owner.base, f"{scheme.lower()} {token}")
    expect_status(lower.ask("GET", MODELS), 200)
    for other in (f"Basic {token}", token, f"{value}x"):
        expect_error(Peer(subject.owner.base, other).ask("GET", MODELS), 401)


def _body_forgotten(subject: Subject) -> None:
    if not is_body_forgotten(subject.chat.peer.with_token(_WRONG)):
        raise BrokenError("the second request on the connection failed otherwise")


def _paths(subject: Subject) -> None:
    for path in ("/", "/v1", "/v1/models/", "/v1/chat", "/V1/MODELS", "/health"):
        expect_error(subject.owner.ask("GET", path), 404)


def _methods(subject: Subject) -> None:
    asked = [("POST", MODELS, "GET"), ("DELETE", MODELS, "GET")]
    asked += [("GET", COMPLETIONS, "POST"), ("OPTIONS", COMPLETIONS, "POST")]
    for method, path, allowed in asked:
        reply = subject.owner.ask(method, path, b"" if method == "POST" else None)
        expect_error(reply, 405)
        if reply.headers.get("allow", "").replace(" ", "") != allowed:
            raise BrokenError(f"Allow does not name {allowed}")


def _bad_json(subject: Subject) -> None:
    turns = b'"messages":[{"role":"user","content":"x"}]'
    bodies = (b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"a":NaN,' + turns + b"}")
    for body in bodies:
        expect_error(subject.post(body), 400)


def _bad_shapes(subject: Subject) -> None:
    for messages in (
        b"[]",
        b'"x"',
        b"[1]",
        b'[{"role":"user"}]',
        b'[{"role":"user","content":7}]',
        b'[{"role":"nobody","content":"x"}]',
        b'[{"role":"user","content":[{"type":"text"}]}]',
        b'[{"role":"user","content":[{"type":"image_url","image_url":{"url":'
        b'"https://example.invalid/a.png"}}]}]',
    ):
        expect_error(subject.post(b'{"messages":' + messages + b"}"), 400)


def _unknown_model(subject: Subject) -> None:
    body = _QUESTION[:-1] + b',"model":"conduck-selftest-no-such-model"}'
    if len(subject.ids) > 1:
        expect_error(subject.post(body), 400, "model_not_found")


GATE_CASES = (
    Case(
        name="models",
        means="Test Connection of the app is green",
        remedy="start the service anew: it may run with another config",
        run=_models,
    ),
    Case(
        name="auth_models",
        means="nobody sees the models without the token",
        remedy=OURS,
        run=_models_gate,
    ),
    Case(
        name="auth_chat",
        means="nobody begins a turn without the token",
        remedy=OURS,
        run=_chat_gate,
    ),
    Case(
        name="auth_unknown_path",
        means="nobody learns which paths there are without the token",
        remedy=OURS,
        run=_unknown_gate,
    ),
    Case(
        name="auth_scheme",
        means="the token opens in the scheme Bearer, and in no other",
        remedy=OURS,
        run=_scheme,
    ),
    Case(
        name="auth_reject_body",
        means="a wrong token does not spoil the request behind it",
        remedy=OURS,
        run=_body_forgotten,
    ),
    Case(
        name="unknown_path",
        means="there are two routes and nothing else",
        remedy=OURS,
        run=_paths,
    ),
    Case(
        name="methods",
        means="each route knows one method and says which",
        remedy=OURS,
        run=_methods,
    ),
    Case(
        name="bad_json",
        means="what is no strict JSON is refused before any engine sees it",
        remedy=OURS,
        run=_bad_json,
    ),
    Case(
        name="bad_shapes",
        means="a conversation of another shape is refused whole",
        remedy=OURS,
        run=_bad_shapes,
    ),
    Case(
        name="unknown_model",
        means="of several models only an advertised one can be chosen",
        remedy=OURS,
        run=_unknown_model,
    ),
)

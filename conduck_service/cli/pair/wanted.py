"""What a code is to say: what was asked for, with what the config adds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from conduck_service.doctor.context import Chat, DoctorContext, Lane, NotMadeError
from conduck_service.pairing.address import Address, admissible, chat_address
from conduck_service.pairing.code import SetupCode, check_name, guess_transport
from conduck_service.pairing.refusal import RefusedError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no code.

    Attributes:
        about: The option that it is about; empty for the whole.
        refusal: What is wrong.
    """

    about: str
    refusal: RefusedError


class ProblemsError(Exception):
    """Raised with all that is wrong at once.

    Attributes:
        problems: In the order of the options.
    """

    def __init__(self, *problems: Problem) -> None:
        super().__init__()
        self.problems = problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked for, each part in a form that the app accepts."""

    chat: Address
    files: Address | None
    name: str
    scope: str
    model: str
    transport: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A code with the listeners that it leads to."""

    code: SetupCode = field(repr=False)
    chat: Chat
    lane: Lane | None


def checked_request(
    *, url: str, files_url: str, name: str, scope: str, model: str, transport: str
) -> Request:
    """Return what was asked for.

    Raises:
        ProblemsError: The app would not accept all of it.
    """
    problems: list[Problem] = []

    def kept(about: str, make: Callable[[], T]) -> T | None:
        try:
            return make()
        except RefusedError as error:
            problems.append(Problem(about, error))
            return None

    chat = kept("--url", lambda: chat_address(url))
    files = kept("--files-url", lambda: admissible(files_url)) if files_url else None
    called = kept("--name", lambda: check_name(name))
    if problems or chat is None or called is None:
        raise ProblemsError(*problems)
    return Request(
        chat=chat,
        files=files,
        name=called,
        scope=scope,
        model=model,
        transport=transport or guess_transport(chat),
    )


def wanted(context: DoctorContext, request: Request) -> Wanted:
    """Return the code for a request, with its secrets resolved as the daemon does.

    Raises:
        ProblemsError: The config has not what was asked for, or a secret cannot be
            had.
    """
    chat = _chat(context, request.scope)
    lane = None
    if request.files is not None:
        lane = context.lane_of(chat.scope)
        if lane is None:
            raise _problem(
                "--files-url",
                "no_lane",
                "the scope has no file lane",
                "leave --files-url out, or add a lane (docs/howto/files.md)",
            )
    model = _model(chat, request.model)
    try:
        token = context.credential_of(chat)
        password = context.credential_of(lane) if lane else ""
    except NotMadeError as error:
        raise _problem(
            "",
            "secret_unavailable",
            str(error),
            "open-conduit doctor --check-secrets says more",
        ) from None
    code = SetupCode(
        name=request.name,
        chat=request.chat,
        token=token,
        model=model,
        files=request.files,
        password=password,
        transport=request.transport,
    )
    return Wanted(code=code, chat=chat, lane=lane)


def _chat(context: DoctorContext, scope: str) -> Chat:
    if context.document is None:
        raise _problem(
            "",
            "config_invalid",
            "the config cannot be used",
            "open-conduit config check says why",
        )
    chats = context.chats
    found = [chat for chat in chats if scope in {"", chat.scope.id}]
    if len(found) == 1:
        return found[0]
    if not chats:
        raise _problem(
            "", "no_chat", "the config has no chat listener", "run open-conduit init"
        )
    ids = ", ".join(sorted(chat.scope.id for chat in chats))
    if found:
        raise _problem(
            "--scope", "which_scope", "several scopes have chat", f"name one: {ids}"
        )
    raise _problem(
        "--scope", "no_chat", "that scope has no chat listener", f"use one of {ids}"
    )


def _model(chat: Chat, model: str) -> str:
    """Return the id for the code; a single one needs no name in it."""
    ids = [item.id for item in chat.config.models]
    if model and model not in ids:
        raise _problem(
            "--model",
            "model_unknown",
            "the listener has no such model",
            f"use one of {', '.join(ids)}",
        )
    return model or (chat.config.default_id if len(ids) > 1 else "")


def _problem(about: str, code: str, reason: str, remedy: str) -> ProblemsError:
    return ProblemsError(Problem(about, RefusedError(code, reason, remedy)))

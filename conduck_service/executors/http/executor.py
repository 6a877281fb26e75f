"""The executor ``http``: a model behind a server that speaks as OpenAI's API does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from conduck_service import __version__
from conduck_service.base.jsonio import JsonValue, dump
from conduck_service.domain.execution import FailureCode
from conduck_service.domain.scope import Binding, Scope
from conduck_service.executors.file_actions import FileActions, named_folder
from conduck_service.executors.http.address import Address, ProxyError, proxy_for
from conduck_service.executors.http.connection import API_KEY, OPENAI_HTTP
from conduck_service.executors.http.exchange import ExchangeError, Request, exchange
from conduck_service.executors.http.messages import build_messages
from conduck_service.executors.http.reply import Reply, read_reply, total_usage
from conduck_service.executors.http.settings import HTTP_SPEC, FileTool, HttpConfig
from conduck_service.executors.http.tools import (
    INSTRUCTIONS,
    TOOLS,
    WANT_WORDS,
    run_calls,
)
from conduck_service.executors.results import check_text
from conduck_service.executors.stripping import STRIP_WORDS
from conduck_service.extension.connection import ConnectionAccess
from conduck_service.extension.executor import (
    Capabilities,
    Completed,
    ExecutionContext,
    ExecutorType,
    Failed,
    RunResult,
)
from conduck_service.extension.spec import Decoding

_PATH = "chat/completions"


class HttpExecutor:
    """Asks servers; nothing is kept between two turns."""

    def capabilities(self, config: HttpConfig) -> Capabilities:
        """Return what the server can take."""
        return Capabilities(
            images=config.images != "none",
            max_request_bytes=config.max_request_bytes,
            serialize=config.serialize,
        )

    def folder(self, config: HttpConfig) -> None:
        """Return none of its own: files are those of the lane."""
        del config

    def run(self, config: HttpConfig, context: ExecutionContext) -> RunResult:
        """Ask the server until it answers in words, or fail."""
        access = context.connection
        assert access is not None, "config check wants a connection"
        try:
            request = _request(config, access, context.host_env)
            return _Turn(config, context, request).run()
        except ExchangeError as error:
            return Failed(error.code, error.detail)
        except ProxyError:
            return Failed(FailureCode.CANNOT_START, "the proxy is none for HTTP")


def _request(
    config: HttpConfig, access: ConnectionAccess, variables: Mapping[str, str]
) -> Request:
    """Return the requests of a turn, which differ in their bodies only.

    Raises:
        ExchangeError: The key cannot stand in a header.
        ProxyError: The variables name a proxy that cannot be used.
    """
    address = Address.below(access.config.base_url, _PATH)
    return Request(
        address=address,
        proxy=proxy_for(address, variables),
        headers=_headers(config, access.secrets.get(API_KEY)),
        body=b"",
        connect_seconds=config.connect_seconds,
        max_response_bytes=config.max_response_bytes,
    )


def _headers(config: HttpConfig, key: str | None) -> dict[str, str]:
    headers = {
        "Accept": "text/event-stream" if config.stream else "application/json",
        "User-Agent": f"conduck-service/{__version__}",
    }
    given = {name.lower() for name in config.headers}
    headers = {name: headers[name] for name in headers if name.lower() not in given}
    headers |= {"Content-Type": "application/json", **config.headers}
    if key is not None:
        if not key.isascii() or not key.isprintable():
            raise ExchangeError(
                FailureCode.SECRET_UNAVAILABLE, "the key cannot stand in a header"
            )
        headers["Authorization"] = f"Bearer {key}"
    return headers


class _Turn:
    """One turn: perhaps several requests, with file actions between them."""

    def __init__(
        self, config: HttpConfig, context: ExecutionContext, request: Request
    ) -> None:
        self._config = config
        self._context = context
        self._request = request
        self._messages = build_messages(context.conversation, config)
        self._usages: list[JsonValue] = []
        # Only for this message: others name no folder to write into.
        self._tool = (
            config.file_tool
            if isinstance(config.file_tool, FileTool)
            and context.conversation.names_folder
            else None
        )

    def run(self) -> RunResult:
        """Return the answer, or why there is none."""
        reply = self._ask({}) if self._tool is None else self._work(self._tool)
        return reply if isinstance(reply, Failed) else self._answer(reply)

    def _work(self, tool: FileTool) -> Reply | Failed:
        """Carry out what the model calls for until it calls no more."""
        actions = FileActions(
            self._context.folder,
            named_folder(self._context.conversation),
            self._context.scratch,
        )
        self._messages.insert(0, {"role": "system", "content": INSTRUCTIONS})
        calling: list[Reply] = []
        while isinstance(reply := self._ask({"tools": TOOLS}), Reply) and reply.calls:
            calling.append(reply)
            if sum(len(item.calls) for item in calling) > tool.max_steps:  # C-SEC-14
                return Failed(FailureCode.ENGINE_ERROR, "too many calls of the tool")
            self._messages += run_calls(reply, actions)
        if isinstance(reply, Failed) or not calling or self._has_words(reply):
            return reply
        return self._ask_for_words(calling)

    def _ask_for_words(self, calling: Sequence[Reply]) -> Reply | Failed:
        """Ask a model once more that did its work and said nothing (C-RESP-08).

        What it said beside a call is an answer too when there is no later one
        (C-RESP-11).
        """
        self._messages.append({"role": "user", "content": WANT_WORDS})
        last = self._ask({"tools": TOOLS, "tool_choice": "none"})
        if isinstance(last, Failed):
            return last
        spoken = [item for item in (*calling, last) if self._has_words(item)]
        return spoken[-1] if spoken else last

    def _has_words(self, reply: Reply) -> bool:
        return isinstance(self._answer(reply), Completed)

    def _ask(self, more: Mapping[str, JsonValue]) -> Reply | Failed:
        config = self._config
        asked: dict[str, JsonValue] = {"messages": self._messages, **more}
        if config.model is not None:
            asked["model"] = config.model
        if config.stream:
            asked |= {"stream": True, "stream_options": {"include_usage": True}}
        body = dump(asked)
        if config.max_request_bytes and len(body) > config.max_request_bytes:
            return Failed(FailureCode.CONTEXT_TOO_LONG)
        if (cut := self._context.interrupted()) is not None:
            return Failed(cut)
        request = replace(self._request, body=body)
        reply = read_reply(exchange(request, self._context.interrupted))
        if isinstance(reply, Reply):
            self._usages.append(reply.usage)
        return reply

    def _answer(self, reply: Reply) -> RunResult:
        result = check_text(reply.text, STRIP_WORDS, self._context.interrupted)
        if isinstance(result, Failed):
            return result
        usage = total_usage(self._usages)
        return replace(result, usage=usage, finish=reply.finish)


def _check(binding: Binding, scope: Scope, into: Decoding) -> None:
    if binding.config.file_tool and scope.folder is None:
        into.refuse(
            ("config", "file_tool"),
            "missing_field",
            "there is no shared folder for the tool",
            "add a conduck_files entry to the scope, or write false",
        )


HTTP = ExecutorType(
    name="http",
    spec=HTTP_SPEC,
    executor=HttpExecutor(),
    check=_check,
    connection_types=(OPENAI_HTTP,),
)

"""The http binding: its config and its connection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conduck_service.base.diagnostics import Level
from conduck_service.domain.conversation import Conversation, Message, Role
from conduck_service.domain.execution import FailureCode
from conduck_service.domain.scope import Binding, Scope
from conduck_service.executors.http.connection import (
    OPENAI_CONNECTION,
    OpenAIHttpConfig,
)
from conduck_service.executors.http.executor import HTTP, HttpExecutor
from conduck_service.executors.http.settings import HTTP_SPEC, FileTool, HttpConfig
from conduck_service.extension.connection import ConnectionAccess
from conduck_service.extension.executor import ExecutionContext, Failed
from conduck_service.extension.spec import Decoding
from tests.unit.executors.decoding import BASE, decode, refusals

EVERYTHING = {
    "model": "small-text:8b",
    "images": "inline",
    "history_images": "forward",
    "alternation": "strict",
    "stream": True,
    "serialize": True,
    "max_request_bytes": 1_000_000,
    "max_response_bytes": 1_000,
    "connect_seconds": 2.5,
    "headers": {"HTTP-Referer": "https://example.org", "X-Title": "My desk"},
    "file_tool": {"max_steps": 3},
    "empty_prompt": "carrier",
}


def test_nothing_has_to_be_said() -> None:
    made = decode(HTTP_SPEC, {})
    assert made == HttpConfig()
    assert (made.model, made.images, made.history_images) == (None, "none", "disclose")
    assert (made.alternation, made.stream, made.serialize) == ("any", False, False)
    assert (made.max_request_bytes, made.max_response_bytes) == (None, 8_388_608)
    assert (made.connect_seconds, made.headers) == (10.0, {})
    assert (made.file_tool, made.empty_prompt) == (False, "accept")


def test_everything_can_be_said() -> None:
    made = decode(HTTP_SPEC, EVERYTHING)
    assert {key: getattr(made, key) for key in EVERYTHING} == {
        **EVERYTHING,
        "file_tool": FileTool(max_steps=3),
    }
    assert HttpExecutor().capabilities(made).images
    assert HttpExecutor().capabilities(made).serialize
    assert HttpExecutor().capabilities(made).max_request_bytes == 1_000_000


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (False, False),
        (True, FileTool(max_steps=16)),
        ({}, FileTool(max_steps=16)),
        ({"max_steps": 1}, FileTool(max_steps=1)),
    ],
)
def test_the_file_tool_is_off_on_or_an_object(value: Any, wanted: Any) -> None:
    assert decode(HTTP_SPEC, {"file_tool": value}).file_tool == wanted


def test_true_and_what_it_stands_for_are_the_same_config() -> None:
    wanted = HTTP_SPEC.normal({"file_tool": {"max_steps": 16}})
    assert wanted["file_tool"] == {"max_steps": 16}
    assert HTTP_SPEC.normal({"file_tool": True}) == wanted
    assert HTTP_SPEC.normal({"file_tool": {}}) == wanted
    assert HTTP_SPEC.normal({"file_tool": False}) == HTTP_SPEC.normal({})
    assert HTTP_SPEC.normal({})["file_tool"] is False


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"file_tool": 1}, ("file_tool", "invalid_type")),
        ({"file_tool": None}, ("file_tool", "null_value")),
        ({"file_tool": {"max_steps": 0}}, ("file_tool/max_steps", "invalid_config")),
        ({"file_tool": {"steps": 1}}, ("file_tool/steps", "unknown_field")),
        ({"images": "file"}, ("images", "invalid_config")),
        ({"history_images": "forward"}, ("", "invalid_config")),
        ({"headers": {"X-A": "1", "x-a": "2"}}, ("", "invalid_config")),
        ({"headers": {"X-A": "1\r\nX-B: 2"}}, ("headers/X-A", "invalid_config")),
        ({"headers": {"X-A": "é"}}, ("headers/X-A", "invalid_config")),
        ({"connect_seconds": 0}, ("connect_seconds", "invalid_config")),
        ({"max_response_bytes": 0}, ("max_response_bytes", "invalid_config")),
        ({"url": "http://127.0.0.1"}, ("url", "unknown_field")),
    ],
)
def test_a_wrong_key_is_named(value: Any, wanted: tuple[str, str]) -> None:
    assert refusals(HTTP_SPEC, value) == [wanted]


@pytest.mark.parametrize(
    "name",
    ["Accept", "HTTP-Referer", "User-Agent", "X-Title", "anthropic-version", "!x"],
)
def test_ordinary_headers_are_taken(name: str) -> None:
    assert decode(HTTP_SPEC, {"headers": {name: "a b"}}).headers == {name: "a b"}


@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "authorization", "PROXY-AUTHORIZATION", "Cookie"),
        *("X-Api-Key", "x-auth-token", "X-Goog-Api-Key", "X-Secret", "X-Passwd"),
        *("Host", "hOST", "Content-Length", "content-type", "Connection"),
        *("Transfer-Encoding", "TE", "Upgrade", "Expect"),
        *("", "X A", "X:", "X-A\n", "Ä", "X-A\r\nX-B"),
    ],
)
@pytest.mark.req("B-SCHEMA-06")
def test_credentials_and_what_the_exchange_needs_are_no_headers(name: str) -> None:
    value = {"headers": {name: "canary"}}
    shown = name.replace("\r", "\\r").replace("\n", "\\n")
    assert refusals(HTTP_SPEC, value) == [(f"headers/{shown}", "invalid_config")]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:11434/v1",
        "https://api.example.org/v1",
        "https://api.example.org",
        "http://localhost:1/",
        "http://[::1]:65535/v1",
        "http://box",
        "https://example.org/a/b%20c/v1/",
    ],
)
def test_a_base_url_has_a_host_and_perhaps_port_and_path(url: str) -> None:
    assert decode(OPENAI_CONNECTION.spec, {"base_url": url}).base_url == url


@pytest.mark.parametrize(
    "url",
    [
        *("", "127.0.0.1:11434", "ftp://host/", "http:/host", "http://", "http:///v1"),
        *("http://me:pw@host/v1", "http://me@host", "http://host/v1?key=1"),
        *("http://host/v1#a", "http://host:0", "http://host:65536", "http://host:"),
        *("http://host:x", "http://ho st", "http://host\n", "http://host\\v1"),
        *("http://hôst", "http://-host", "http://host:080"),
    ],
)
def test_any_other_base_url_is_refused(url: str) -> None:
    spec = OPENAI_CONNECTION.spec
    assert refusals(spec, {"base_url": url}) == [("base_url", "invalid_config")]


def test_a_connection_needs_a_base_url_and_takes_no_key() -> None:
    spec = OPENAI_CONNECTION.spec
    assert refusals(spec, {}) == [("base_url", "missing_field")]
    value = {"base_url": "http://box", "api_key": "canary"}
    assert refusals(spec, value) == [("api_key", "unknown_field")]


def _checked(config: Any, folder: Path | None) -> list[tuple[str, str, Level]]:
    binding = Binding(name="local", executor="http", config=decode(HTTP_SPEC, config))
    into = Decoding(base=BASE)
    HTTP.check(binding, Scope(id="home", name="Home", folder=folder), into)
    return [(item.place, item.code, item.level) for item in into.problems]


def test_the_file_tool_needs_a_shared_folder(tmp_path: Path) -> None:
    assert _checked({}, None) == []
    assert _checked({"file_tool": True}, tmp_path) == []
    wanted = ("config/file_tool", "missing_field", Level.ERROR)
    assert _checked({"file_tool": True}, None) == [wanted]


@pytest.mark.parametrize("key", ["two\nlines", "caf\u00e9", "\udcff"])
def test_a_key_that_no_header_can_hold_ends_the_turn(key: str) -> None:
    access = ConnectionAccess(
        config=OpenAIHttpConfig(base_url="http://127.0.0.1:1/v1"),
        secrets={"api_key": key},
    )
    context = ExecutionContext(
        execution_id="exec_x",
        conversation=Conversation((Message(Role.USER, "hi"),)),
        folder=Path("/"),
        scratch=lambda _parent: Path("/"),
        marker=("MARKER", "x"),
        connection=access,
        interrupted=lambda: None,
    )
    result = HttpExecutor().run(HttpConfig(), context)
    assert isinstance(result, Failed)
    assert result.code is FailureCode.SECRET_UNAVAILABLE
    assert key not in repr(access) + result.detail

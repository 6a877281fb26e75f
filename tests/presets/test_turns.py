"""How an engine of a preset is run, through the real chat listener."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.presets.fake import golden, serving_fake
from tests.support.service import PIXEL, assistant, image, text, user

req = pytest.mark.req

PONG = golden("codex", "pong")
LOGIN = ".codex/auth.json"


@req("C-SEC-02", "C-SEC-03", "C-SEC-05", "C-SEC-23", "C-SELECT-06")
def test_the_prompt_is_on_standard_input_and_nowhere_else(tmp_path: Path) -> None:
    with serving_fake(tmp_path, "codex", [PONG], model="vendor/x-2") as fake:
        message = "--version @notes.txt $(id)\u2028 end "
        assert fake.service.chat(message) == "pong"
        (run,) = fake.runs
        assert run["stdin"] == message
        assert not any(message in word for word in run["argv"])
        at = run["argv"].index("-m")
        assert run["argv"][at + 1] == "vendor/x-2"
        assert run["argv"][-1] == "-"


@req("C-SNAP-05", "C-IMG-09", "C-SEC-05")
def test_a_message_line_holds_history_and_parts_in_their_order(tmp_path: Path) -> None:
    pong = golden("claude_code", "pong")
    with serving_fake(tmp_path, "claude_code", [pong]) as fake:
        response = fake.service.turn(
            user([text("before"), image(), text("after")]),
            assistant("I see."),
            user([text("a"), text("b"), image(), text("/clear")]),
        )
        assert response.status_code == 200, response.text
        (run,) = fake.runs
        line = json.loads(run["stdin"])
        history, first, picture, last, end = line["message"]["content"]
        assert "before" in history["text"]
        assert "I see." in history["text"]
        assert first == {"type": "text", "text": "a\nb"}
        assert picture["source"]["data"] == PIXEL
        assert last == {"type": "text", "text": "/clear"}
        assert end == {"type": "text", "text": ""}
        assert run["stdin"].count("\n") == 1


@req("C-SNAP-15", "C-SEC-24", "B-ENV-05")
def test_a_turn_has_a_home_of_its_own(tmp_path: Path) -> None:
    logins = {LOGIN: "login", ".codex/config.toml": "the person's", ".netrc": "secret"}
    with serving_fake(
        tmp_path, "codex", [PONG], logins=logins, environment={"SECRET_THING": "x"}
    ) as fake:
        fake.service.chat("one")
        fake.service.chat("two")
        first, second = (run["environment"] for run in fake.runs)
        assert first["HOME"] != second["HOME"]
        assert not Path(first["HOME"]).exists()
        assert first["TMPDIR"].startswith(first["HOME"])
        assert "SECRET_THING" not in first
        assert [run["home"] for run in fake.runs] == [[LOGIN], [LOGIN]]


@pytest.mark.parametrize("replaces", [False, True])
def test_a_login_that_was_renewed_is_kept(tmp_path: Path, replaces: bool) -> None:
    run = {**PONG, "writes": {LOGIN: "renewed"}, "replaces": replaces}
    with serving_fake(tmp_path, "codex", [run], logins={LOGIN: "login"}) as fake:
        assert fake.service.chat("ping") == "pong"
        kept = fake.person / LOGIN
        assert kept.read_text() == "renewed"
        assert kept.stat().st_mode & 0o777 == 0o600


def test_a_login_is_not_taken_from_elsewhere(tmp_path: Path) -> None:
    others = {LOGIN: "login", "other/auth.json": "of something else"}
    run = {**PONG, "links": {".codex": str(tmp_path / "person/other")}}
    with serving_fake(tmp_path, "codex", [run], logins=others) as fake:
        assert fake.service.chat("ping") == "pong"
        assert (fake.person / LOGIN).read_text() == "login"


def test_a_login_is_not_replaced_by_nothing(tmp_path: Path) -> None:
    run = {**PONG, "writes": {LOGIN: ""}, "replaces": True}
    with serving_fake(tmp_path, "codex", [run], logins={LOGIN: "login"}) as fake:
        assert fake.service.chat("ping") == "pong"
        assert (fake.person / LOGIN).read_text() == "login"


@pytest.mark.parametrize("engine", ["copilot", "pi", "vibe"])
def test_a_pipe_in_the_place_of_a_report_is_not_waited_for(
    tmp_path: Path, engine: str
) -> None:
    run = {**golden(engine, "pong"), "pipes": ["report"]}
    with serving_fake(tmp_path, engine, [run]) as fake:
        for _ in range(2):
            fake.service.turn(user("ping"))
        assert len(fake.runs) == 2


def test_a_report_is_not_taken_from_elsewhere(tmp_path: Path) -> None:
    report = {"text": "canary", "calls": [{"stopReason": "stop"}]}
    run = golden("pi", "pong")
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps(report))
    runs = [{**run, "writes": {"report": secret.read_text()}}]
    runs += [{**run, "links": {"report": str(secret)}}]
    with serving_fake(tmp_path, "pi", runs) as fake:
        assert "canary" in fake.service.turn(user("ping")).text
        assert "canary" not in fake.service.turn(user("ping")).text


@req("C-RESP-11", "C-META-07")
def test_a_bare_tool_turn_is_asked_for_words_once(tmp_path: Path) -> None:
    bare = golden("codex", "bare_tool")
    with serving_fake(tmp_path, "codex", [bare, PONG]) as fake:
        response = fake.service.turn(user([text("Do it"), image()]))
        assert response.json()["choices"][0]["message"]["content"] == "pong"
        assert "usage" not in response.json()
        first, second = fake.runs
        assert "resume" not in first["argv"]
        assert second["argv"][-3:] == ["resume", "--last", "-"]
        assert second["pictures"] == []
        assert "Do it" not in second["stdin"]
        assert first["environment"]["HOME"] == second["environment"]["HOME"]


@req("C-RESP-07")
def test_an_engine_without_words_is_asked_only_once_more(tmp_path: Path) -> None:
    bare = golden("codex", "bare_tool")
    with serving_fake(tmp_path, "codex", [bare]) as fake:
        assert fake.service.turn(user("Do it")).status_code == 502
        assert len(fake.runs) == 2


@req("C-IMG-23", "C-IMG-29")
def test_a_photo_is_a_file_behind_the_last_arguments(tmp_path: Path) -> None:
    with serving_fake(tmp_path, "codex", [PONG]) as fake:
        assert fake.service.chat([text("What?"), image()]) == "pong"
        (run,) = fake.runs
        assert run["pictures"] == [base64.b64decode(PIXEL).hex()]
        assert run["argv"][-3:-1] == ["-", "-i"]


@req("C-IMG-06")
@pytest.mark.parametrize("engine", ["codex", "claude_code"])
def test_a_broken_photo_is_no_turn(tmp_path: Path, engine: str) -> None:
    broken = base64.b64encode(base64.b64decode(PIXEL)[:40]).decode()
    with serving_fake(tmp_path, engine, [golden(engine, "pong")]) as fake:
        response = fake.service.turn(user([text("What?"), image(broken)]))
        assert response.status_code == 502
        assert fake.runs == []


@req("C-IMG-02", "C-IMG-03")
def test_a_model_without_eyes_declines_photos(tmp_path: Path) -> None:
    with serving_fake(tmp_path, "codex", [PONG], images=False) as fake:
        response = fake.service.turn(user([text("What?"), image()]))
        assert response.json()["error"]["code"] == "image_unsupported"
        assert fake.runs == []


@req("C-SEC-17")
def test_what_the_engine_cannot_take_is_declined_before_it_runs(tmp_path: Path) -> None:
    with serving_fake(tmp_path, "codex", [PONG]) as fake:
        response = fake.service.turn(user("x" * 1_048_577))
        assert response.status_code == 400
        assert response.json()["error"]["code"] == "context_too_long"
        assert fake.runs == []
        assert fake.service.chat("x" * 1_048_576) == "pong"


@req("C-RESP-14", "C-ERR-07")
def test_the_engines_own_word_decides(tmp_path: Path) -> None:
    runs = [
        golden("codex", "upstream_500"),
        golden("codex", "context"),
        {**PONG, "status": 3},
        golden("codex", "length"),
    ]
    with serving_fake(tmp_path, "codex", runs) as fake:
        failed, long, status, cut = (fake.service.turn(user("ping")) for _ in runs)
        assert (failed.status_code, status.status_code) == (502, 502)
        assert long.json()["error"]["code"] == "context_too_long"
        (choice,) = cut.json()["choices"]
        assert choice["finish_reason"] == "length"
        assert choice["message"]["content"] == "The first half of"
        told = "exit (exit status 3; open-conduit doctor says whether a login is"
        assert fake.service.log.count(told) == 1


@req("C-SEC-13")
def test_an_engine_that_prints_too_much_is_ended(tmp_path: Path) -> None:
    flood = {"stdout": (b"x" * 4096).hex()}
    with serving_fake(tmp_path, "codex", [flood], max_output_bytes=1024) as fake:
        assert fake.service.turn(user("ping")).status_code == 502


def test_files_of_the_operator_are_in_the_home(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("x = 1\n")
    files = {".codex/config.toml": str(tmp_path / "own.toml")}
    with serving_fake(tmp_path, "codex", [PONG], home_files=files) as fake:
        fake.service.chat("ping")
        assert ".codex/config.toml" in fake.runs[0]["home"]


def test_a_file_of_the_operator_that_is_not_there_is_named(tmp_path: Path) -> None:
    files = {".codex/config.toml": "no/such.toml"}
    with serving_fake(tmp_path, "codex", [PONG], home_files=files) as fake:
        place = "home_files/.codex~1config.toml: file_not_found"
        assert place in fake.service.log
        response = fake.service.turn(user("ping"))
        assert response.status_code == 502
        assert fake.runs == []
        assert "a file of home_files is unusable" in fake.service.log

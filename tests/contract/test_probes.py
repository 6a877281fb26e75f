"""C-CHECK: the checker's probes, its own run where it is at hand, and by hand.

With CONDUCK_CHECKER naming a conduck-connect.sh the checker itself runs too.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checker import (
    SummaryError,
    checker_environment,
    parse_summary,
    run_checker,
    script_at_hand,
)
from tests.support.probes import PONG, Probes, picture_of
from tests.support.service import (
    TOKEN,
    Service,
    Stub,
    binding,
    running,
    stub,
    user,
)

ROOT = Path(__file__).parents[2]
DIGITS = "483920"
SEEN = hashlib.sha256(picture_of(DIGITS)).hexdigest()


@pytest.fixture(scope="module")
def literal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with one model whose engine takes text and obeys to the letter."""
    root = tmp_path_factory.mktemp("literal")
    with running(root, engine=stub(root, ["obey"])) as service:
        yield service


@pytest.fixture(scope="module")
def sighted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with two models; the first one's engine knows one picture."""
    root = tmp_path_factory.mktemp("sighted")
    engine = stub(root, ["recognise", {SEEN: DIGITS}], ["obey"])
    blind = stub(root, ["obey"], name="blind")
    bindings = {
        "sighted": binding(engine, images={"mode": "file"}),
        "blind": binding(blind, name="blind"),
    }
    with running(root, bindings=bindings) as service:
        yield service


def probes(service: Service) -> Probes:
    return Probes(service.url, service.token)


def runs(service: Service) -> Iterator[tuple[Path, Path]]:
    """Yield each checker at hand with an empty home for it."""
    home = service.root / "home"
    home.mkdir(exist_ok=True)
    for script in script_at_hand():
        yield script, home


@pytest.mark.req("C-CHECK-01")
def test_the_plain_profile_is_green(literal: Service) -> None:
    probes(literal).plain()
    for script, home in runs(literal):
        summary, shown = run_checker(script, literal.url, literal.token, home)
        assert summary.exit == 0, shown


@pytest.mark.req("C-CHECK-01")
def test_the_plain_profile_is_green_with_two_models(sighted: Service) -> None:
    probes(sighted).plain()
    for script, home in runs(sighted):
        summary, shown = run_checker(script, sighted.url, sighted.token, home)
        assert summary.exit == 0, shown


def test_a_text_only_engine_declines_the_picture(literal: Service) -> None:
    assert probes(literal).image_input(DIGITS) == "DECLINED"
    for script, home in runs(literal):
        summary, shown = run_checker(script, literal.url, literal.token, home, "--deep")
        assert summary.exit == 0, shown
        assert summary.fields["image_input"] == "DECLINED"


def test_a_picture_reaches_an_engine_that_sees(sighted: Service) -> None:
    assert probes(sighted).image_input(DIGITS) == "VERIFIED"


@pytest.mark.req("C-CHECK-09")
def test_a_picture_that_an_engine_misreads_is_still_forwarded(
    sighted: Service,
) -> None:
    # What an engine makes of a picture is never turned into a refusal.
    assert probes(sighted).image_input("175064") == "UNVERIFIED"
    # The refusal is worded in one place, which decides before any engine runs.
    code = ROOT / "conduck_service"
    users = {
        str(path.relative_to(code))
        for path in code.rglob("*.py")
        if "ErrorCode.IMAGE_UNSUPPORTED" in path.read_text("utf-8")
    }
    assert users == {"chat/images.py", "chat/errors.py"}


@pytest.mark.req("C-CHECK-09")
def test_the_docs_say_what_to_do_about_an_unverified_picture() -> None:
    words = (ROOT / "docs/howto/check.md").read_text("utf-8")
    (said,) = [part for part in words.split("\n- ") if "UNVERIFIED" in part]
    assert "engine's name" in said
    assert "Never turn it green by declining" in " ".join(said.split())


@pytest.mark.req("C-CHECK-06")
def test_the_answer_survives_the_framing(literal: Service, tmp_path: Path) -> None:
    probes(literal).chat_framing()
    with running(tmp_path, engine=stub(tmp_path, ["echo"])) as echo:
        probes(echo).chat_framing()


def test_the_framing_probe_is_red_for_an_answer_that_only_quotes(
    tmp_path: Path,
) -> None:
    engine = stub(tmp_path, ["print", "You said: Reply with exactly: pong"])
    with running(tmp_path, engine=engine) as service, pytest.raises(AssertionError):
        probes(service).chat_framing()


@pytest.mark.req("C-CHECK-07")
def test_a_refused_body_harms_no_later_request_of_a_pool(literal: Service) -> None:
    for _ in range(3):
        probes(literal).auth_chat_reject_body()


@pytest.mark.req("C-CHECK-07")
def test_curl_sends_the_pair_over_one_pool(literal: Service) -> None:
    url = f"{literal.url}/v1/chat/completions"
    pair: list[str] = []
    for _ in range(2):
        pair += ["-o", "/dev/null", url]
    shown = curl(
        "-H", "Authorization: Bearer wrong", "-H", "Content-Type: application/json",
        "-H", "Expect:", "-d", json.dumps({"messages": []}),
        "-w", "%{http_code} ", *pair,
    )  # fmt: skip
    assert shown.split() == ["401", "401"]


def curl(*words: str) -> str:
    """Run curl as a person would and return what it prints."""
    argv = ["curl", "-q", "-s", "--noproxy", "*", "--max-time", "30", *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


@pytest.mark.req("C-CHECK-03")
def test_by_hand_the_models_are_listed(literal: Service) -> None:
    shown = curl("-H", f"Authorization: Bearer {TOKEN}", f"{literal.url}/v1/models")
    assert json.loads(shown) == {
        "object": "list",
        "data": [{"id": "agent", "object": "model"}],
    }


@pytest.mark.req("C-CHECK-04")
def test_by_hand_no_token_is_401(literal: Service) -> None:
    words = ("-o", "/dev/null", "-w", "%{http_code}")
    assert curl(*words, f"{literal.url}/v1/models") == "401"


@pytest.mark.req("C-CHECK-05")
def test_by_hand_ping_is_answered_with_pong(literal: Service) -> None:
    body = json.dumps({"messages": [user(PONG)], "stream": False})
    shown = curl(
        "-X", "POST", "-H", f"Authorization: Bearer {TOKEN}",
        "-H", "Content-Type: application/json", "-d", body,
        f"{literal.url}/v1/chat/completions",
    )  # fmt: skip
    answer = json.loads(shown)
    assert answer["choices"] == [{"message": {"role": "assistant", "content": "pong"}}]


LINE = (
    "CONDUCK_CHECK_ADAPTER schema={schema} contract=v1 revision=1.10 harness=0.16.0 "
    "profile=basic core=PASS history_image=PASS stream=PASS image_input=NOT_RUN "
    "file_transport=NOT_REQUESTED file_access=NOT_REQUESTED file_e2e=NOT_REQUESTED "
    "checks=11 failed=0 exit=0"
)


@pytest.mark.req("C-CHECK-10")
def test_the_summary_is_read_by_its_schema() -> None:
    for schema in (3, 4):
        shown = f"✓ MODELS_ENVELOPE\n{LINE.format(schema=schema)}\n"
        summary = parse_summary(shown)
        assert summary.schema == schema
        assert (summary.fields["core"], summary.exit) == ("PASS", 0)
    with pytest.raises(SummaryError, match="unknown schema '5'"):
        parse_summary(LINE.format(schema=5))


@pytest.mark.req("C-CHECK-10")
def test_no_place_on_the_summary_line_is_taken_for_granted() -> None:
    first, *words = LINE.format(schema=4).split()
    turned = " ".join([first, "new=field", *reversed(words)])
    assert parse_summary(turned).fields["failed"] == "0"
    for broken in ("", "no summary", LINE.replace("schema={schema} ", "")):
        with pytest.raises(SummaryError):
            parse_summary(broken)


@pytest.mark.req("C-CHECK-11")
def test_the_checker_runs_with_ci_set(tmp_path: Path) -> None:
    assert checker_environment("t", tmp_path)["CI"] == "1"
    script = tmp_path / "checker"
    script.write_text(
        'echo "CONDUCK_CHECK_ADAPTER schema=4 ci=$CI token=$CONDUCK_TOKEN '
        'flags=$1$2 exit=0"\n'
    )
    summary, _ = run_checker(script, "http://127.0.0.1:9", "abc", tmp_path, "--deep")
    assert summary.fields["ci"] == "1"
    assert summary.fields["token"] == "abc"
    assert summary.fields["flags"] == "--check-adapter--deep"


def test_a_checker_whose_status_belies_its_summary_is_not_believed(
    tmp_path: Path,
) -> None:
    script = tmp_path / "checker"
    script.write_text('echo "CONDUCK_CHECK_ADAPTER schema=4 exit=0"\nexit 1\n')
    with pytest.raises(SummaryError, match="ended with 1"):
        run_checker(script, "http://127.0.0.1:9", "abc", tmp_path)


def test_the_stub_sees_the_picture_itself(tmp_path: Path) -> None:
    engine: Stub = stub(tmp_path, ["recognise", {SEEN: DIGITS}])
    with running(tmp_path, engine=engine, images={"mode": "file"}) as service:
        assert probes(service).image_input(DIGITS) == "VERIFIED"
    assert [file["sha256"] for file in engine.only["files"]] == [SEEN]

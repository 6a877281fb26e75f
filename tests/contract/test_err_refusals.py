"""What is true of every refusal: all are provoked once, then looked at together."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conduck_service.chat.errors import WIRE
from conduck_service.domain.errors import ErrorCode
from tests.support.refusals import (
    BODILESS,
    CHAT,
    MARK,
    MODELS,
    Collection,
    Refused,
    collected,
)

CODES = {
    "image_unsupported",
    "model_not_found",
    "context_too_long",
    "image_too_large",
    "body_too_large",
    "overloaded",
    "upstream_timeout",
    "upstream_failure",
}
STATUSES = {400, 401, 404, 405, 411, 413, 429, 500, 502, 503, 504}


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return collected(tmp_path_factory.mktemp("refusals"))


@pytest.fixture(scope="module")
def errors(collection: Collection) -> dict[str, dict[str, Any]]:
    """Every error object by the name of its refusal; HEAD has none (RFC 9110)."""
    return {
        name: json.loads(refused.response.body)["error"]
        for name, refused in collection.refusals.items()
        if name not in BODILESS
    }


def statuses(refusals: list[Refused]) -> set[int]:
    return {refused.response.status for refused in refusals}


def test_every_refusal_has_its_status(collection: Collection) -> None:
    wanted = {name: refused.status for name, refused in collection.refusals.items()}
    seen = {
        name: refused.response.status for name, refused in collection.refusals.items()
    }
    assert seen == wanted


def test_the_collection_has_every_status_and_code_there_is(
    collection: Collection,
) -> None:
    seen = {(refused.status, refused.code) for refused in collection.refusals.values()}
    assert {(wire.status, wire.code) for wire in WIRE.values()} == seen
    assert WIRE.keys() == set(ErrorCode)


@pytest.mark.req("C-ERR-01", "C-ERR-02", "C-ERR-03")
def test_every_refusal_is_json_in_the_error_shape(collection: Collection) -> None:
    for name, refused in collection.refusals.items():
        response = refused.response
        assert not 200 <= response.status < 300, name
        assert response.values("Content-Type") == ["application/json"], name
        if name in BODILESS:
            continue
        body = json.loads(response.body)
        assert body.keys() == {"error"}, name
        assert {"message", "type"} <= body["error"].keys(), name  # C-ERR-01
        assert body["error"].keys() <= {"message", "type", "code"}, name  # C-ERR-01
        assert isinstance(body["error"]["message"], str), name
        assert body["error"]["message"].strip(), name  # C-ERR-02
        assert isinstance(body["error"]["type"], str), name
        assert body["error"]["type"].strip(), name  # C-ERR-03


@pytest.mark.req("C-ERR-04")
def test_each_of_the_eight_codes_is_there_when_it_fits(
    collection: Collection, errors: dict[str, dict[str, Any]]
) -> None:
    wanted = {name: collection.refusals[name].code for name in errors}
    assert {n: e["code"] for n, e in errors.items() if "code" in e} == {
        name: code for name, code in wanted.items() if code
    }
    assert {error["code"] for error in errors.values() if "code" in error} == CODES


@pytest.mark.req("C-ERR-05")
def test_there_is_no_code_where_none_fits(errors: dict[str, dict[str, Any]]) -> None:
    plain = (
        *("no token", "unknown path", "get chat", "no json", "empty body"),
        *("garbage", "letters as length", "no length", "internal"),
    )
    assert [name for name in plain if "code" in errors[name]] == []
    assert {e["code"] for e in errors.values() if "code" in e} <= CODES


@pytest.mark.req("C-ERR-06")
def test_a_conversation_beyond_the_engines_limit_is_400_and_never_run(
    collection: Collection, errors: dict[str, dict[str, Any]]
) -> None:
    name = "too long for engine"
    assert collection.refusals[name].response.status == 400
    assert errors[name]["code"] == "context_too_long"
    assert list(collection.records["small"].iterdir()) == []


@pytest.mark.req("C-ERR-08", "C-ERR-09")
def test_a_length_over_the_cap_is_413_without_a_claim_about_images(
    collection: Collection, errors: dict[str, dict[str, Any]]
) -> None:
    plain, with_image = "declared too large", "declared too large, image"
    assert statuses(collection.named(plain, with_image)) == {413}  # C-ERR-08
    assert errors[plain]["code"] == "body_too_large"  # C-ERR-08
    assert errors[with_image]["code"] == "body_too_large"  # C-ERR-09


@pytest.mark.req("C-ERR-10", "C-ERR-11", "C-ERR-12")
def test_codes_of_busy_and_failing_engines_have_their_own_statuses(
    collection: Collection,
) -> None:
    by_code: dict[str, set[int]] = {}
    by_status: dict[int, set[str]] = {}
    for name, refused in collection.refusals.items():
        if name in BODILESS:
            continue
        code = json.loads(refused.response.body)["error"].get("code", "")
        by_code.setdefault(code, set()).add(refused.response.status)
        by_status.setdefault(refused.response.status, set()).add(code)
    assert by_code["overloaded"] == {429, 503}  # C-ERR-10
    assert by_code["upstream_timeout"] == {504}  # C-ERR-11
    assert by_status[504] == {"upstream_timeout"}  # C-ERR-11
    assert by_code["upstream_failure"] == {502}  # C-ERR-12
    assert by_status[502] == {"upstream_failure"}  # C-ERR-12


@pytest.mark.req("C-ERR-15", "C-ERR-16", "C-ERR-20")
def test_paths_and_methods_are_judged_after_the_token(collection: Collection) -> None:
    refusals = collection.refusals
    assert refusals["unknown path"].response.status == 404  # C-ERR-15
    assert refusals["no token, unknown path"].response.status == 401  # C-ERR-16
    assert refusals["no token, wrong method"].response.status == 401  # C-ERR-20


@pytest.mark.req("C-ERR-17", "C-ERR-18", "C-ERR-19")
def test_a_known_path_with_a_wrong_method_is_405(collection: Collection) -> None:
    others = ("PUT", "PATCH", "DELETE")
    on_models = collection.named(*(f"{m} {MODELS}" for m in ("POST", *others)))
    on_chat = collection.named(*(f"{m} {CHAT}" for m in others))
    assert statuses(collection.named("get chat")) == {405}  # C-ERR-17
    assert statuses(on_models) == {405}  # C-ERR-18
    assert statuses(on_chat) == {405}  # C-ERR-19


@pytest.mark.req("C-ERR-21", "C-ERR-29")
def test_options_and_head_are_wrong_methods_like_any_other(
    collection: Collection,
) -> None:
    automatic = [f"{m} {path}" for m in ("OPTIONS", "HEAD") for path in (MODELS, CHAT)]
    assert statuses(collection.named(*automatic)) == {405}  # C-ERR-21
    assert [collection.refusals[name].response.body for name in BODILESS] == [b"", b""]
    for name, refused in collection.refusals.items():
        if refused.response.status == 405:
            method = "GET" if MODELS in name or name == "odd method" else "POST"
            assert refused.response.values("Allow") == [method], name  # C-ERR-29


@pytest.mark.req("C-ERR-22")
def test_a_chat_request_without_any_length_is_400_without_a_code(
    collection: Collection, errors: dict[str, dict[str, Any]]
) -> None:
    response = collection.refusals["no length"].response
    assert response.status == 400
    assert "code" not in errors["no length"]
    assert "Content-Length" in errors["no length"]["message"]
    assert response.values("Connection") == ["close"]


@pytest.mark.req("C-ERR-24")
@pytest.mark.parametrize(
    "name",
    [
        *("garbage", "tls", "long head", "bare lf", "no colon", "http 3"),
        *("two hosts", "letters as length", "negative length", "two lengths"),
        *("length and chunks", "broken chunks"),
    ],
)
def test_the_server_itself_refuses_in_the_same_shape(
    collection: Collection, errors: dict[str, dict[str, Any]], name: str
) -> None:
    assert collection.refusals[name].response.status == 400
    assert errors[name].keys() == {"message", "type"}


@pytest.mark.req("C-ERR-25")
def test_a_fault_of_our_own_shows_nothing_of_itself(
    collection: Collection, errors: dict[str, dict[str, Any]]
) -> None:
    refused = collection.refusals["internal"].response
    assert refused.status == 500
    assert errors["internal"].keys() == {"message", "type"}
    assert errors["internal"]["type"] == "server_error"
    for trace in (b"Traceback", b"ZeroDivisionError", b"line ", b".py", MARK.encode()):
        assert trace not in refused.body
    # The operator is told, without the text of the exception.
    assert "ZeroDivisionError" in collection.log


@pytest.mark.req("C-ERR-26")
def test_the_type_says_whose_fault_it_is(
    collection: Collection, errors: dict[str, dict[str, Any]]
) -> None:
    for name, error in errors.items():
        is_client = collection.refusals[name].response.status < 500
        wanted = "invalid_request_error" if is_client else "server_error"
        assert error["type"] == wanted, name


@pytest.mark.req("C-ERR-27")
def test_messages_differ_by_cause_and_name_field_or_limit(
    errors: dict[str, dict[str, Any]],
) -> None:
    distinct = (
        *("no token", "unknown path", "get chat", "odd method", "garbage"),
        *("letters as length", "two lengths", "length and chunks", "no length"),
        *("broken chunks", "no json", "nan", "no messages", "bad role"),
        *("last from assistant", "bad content", "bad model", "remote image"),
        *("image type", "unknown model", "image to the blind", "large image"),
        *("too long for engine", "declared too large", "internal", "body cut"),
        *("engine exits", "engine killed", "engine says nothing", "engine floods"),
        *("engine reports failure", "engine absent", "secret absent"),
        *("no room for images", "engine too slow", "client gone", "stopped"),
        *("queue full", "not started", "switched off", "stopping, head under way"),
        *("too many uploads", "no memory"),
    )
    messages = [errors[name]["message"] for name in distinct]
    assert len(set(messages)) == len(messages)
    named = {
        "no messages": "messages",
        "bad role": "messages/0/role",
        "bad content": "messages/0/content",
        "bad model": "model",
        "remote image": "image_url/url",
        "large image": "5000",
        "too long for engine": "300",
        "letters as length": "Content-Length",
    }
    assert {n: w for n, w in named.items() if w not in errors[n]["message"]} == {}


@pytest.mark.req("C-ERR-27")
def test_no_value_of_a_request_or_an_engine_stands_in_a_refusal(
    collection: Collection,
) -> None:
    for name, refused in collection.refusals.items():
        assert MARK.encode() not in refused.response.body, name
    assert MARK not in collection.log


@pytest.mark.req("C-ERR-28")
def test_no_status_outside_the_contracts_table_is_sent(collection: Collection) -> None:
    assert statuses(list(collection.refusals.values())) <= STATUSES


@pytest.mark.req("C-CONN-08")
def test_every_response_says_that_the_connection_is_closed(
    collection: Collection,
) -> None:
    responses = {name: item.response for name, item in collection.refusals.items()}
    for name, response in (responses | collection.answers).items():
        assert response.values("Connection") == ["close"], name
    assert {answer.status for answer in collection.answers.values()} == {200}


@pytest.mark.req("C-CONC-08")
@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("queue full", 429),
        ("not started", 503),
        ("switched off", 503),
        ("stopping, body under way", 503),
        ("stopping, head under way", 503),
    ],
)
def test_each_way_of_being_busy_has_its_status(
    collection: Collection, errors: dict[str, dict[str, Any]], name: str, status: int
) -> None:
    assert collection.refusals[name].response.status == status
    assert errors[name]["code"] == "overloaded"


@pytest.mark.req("C-CONC-09")
def test_overloaded_says_when_to_try_again(collection: Collection) -> None:
    busy = {n: r for n, r in collection.refusals.items() if r.code == "overloaded"}
    assert len(busy) >= 7
    for name, refused in busy.items():
        (seconds,) = refused.response.values("Retry-After")
        assert seconds.isascii(), name
        assert seconds.isdigit(), name
        assert int(seconds) >= 1, name

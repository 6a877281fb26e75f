"""The gate lets one exact token in and nothing else."""

from __future__ import annotations

import hmac

import pytest

from conduck_service.serving.bearer import bearer_gate

TOKEN = b"Secret-Token-1"


@pytest.mark.req("C-AUTH-10")
@pytest.mark.parametrize("scheme", [b"Bearer", b"bearer", b"BEARER", b"bEaReR"])
def test_the_scheme_may_be_in_any_case(scheme: bytes) -> None:
    assert bearer_gate(TOKEN)([scheme + b" " + TOKEN])


@pytest.mark.req("C-AUTH-10")
@pytest.mark.parametrize(
    "value",
    [
        b"Basic " + TOKEN,
        b"Basic Q29uZHVjazpTZWNyZXQtVG9rZW4tMQ==",
        b"Token " + TOKEN,
        TOKEN,
        b"",
        b"Bearer",
        b"Bearer:" + TOKEN,
    ],
)
def test_another_scheme_is_refused(value: bytes) -> None:
    assert not bearer_gate(TOKEN)([value])


@pytest.mark.req("C-AUTH-03")
@pytest.mark.parametrize(
    "given",
    [
        TOKEN + b"x",
        b"x" + TOKEN,
        TOKEN[:-1],
        TOKEN[1:],
        TOKEN.upper(),
        TOKEN.lower(),
        b" " + TOKEN,
        TOKEN + b" ",
        TOKEN.replace(b"-", b" "),
        b"\t" + TOKEN,
        b'"' + TOKEN + b'"',
        b"",
    ],
)
def test_a_token_that_differs_in_anything_is_refused(given: bytes) -> None:
    assert not bearer_gate(TOKEN)([b"Bearer " + given])


@pytest.mark.req("C-AUTH-04")
@pytest.mark.parametrize(
    "token", [b"x", b"~!@#$%^&*()=,;:/?", b"\xfc\xff\x80", b"1" * 900]
)
def test_any_bytes_can_be_the_token(token: bytes) -> None:
    assert bearer_gate(token)([b"Bearer " + token])


@pytest.mark.req("C-AUTH-11")
def test_two_headers_are_refused_even_when_both_are_good() -> None:
    good = b"Bearer " + TOKEN
    assert not bearer_gate(TOKEN)([good, good])
    assert not bearer_gate(TOKEN)([good, b"Bearer wrong"])
    assert not bearer_gate(TOKEN)([])


@pytest.mark.parametrize("token", [None, b""])
@pytest.mark.parametrize("value", [b"Bearer ", b"Bearer", b"", b"Bearer None"])
def test_without_a_token_nobody_passes(token: bytes | None, value: bytes) -> None:
    assert not bearer_gate(token)([value])


@pytest.mark.req("C-AUTH-05")
def test_the_comparison_takes_the_same_time_for_every_guess(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []

    def compare(given: bytes, token: bytes) -> bool:
        seen.append((given, token))
        return given == token

    monkeypatch.setattr(hmac, "compare_digest", compare)
    assert not bearer_gate(TOKEN)([b"Bearer guess"])
    assert seen == [(b"guess", TOKEN)]

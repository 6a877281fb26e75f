from __future__ import annotations

import pytest

from conduck_service.domain.reference import Reference, Scheme, parse_reference
from tests.config.build import document, refuse, scope

CANARY = "canary"


@pytest.mark.parametrize(
    ("text", "scheme", "target"),
    [
        ("keyring:chat_token", Scheme.KEYRING, "chat_token"),
        ("file:a", Scheme.FILE, "a"),
        ("env:_Key1", Scheme.ENV, "_Key1"),
        ("cmd:pass show a:b ", Scheme.CMD, "pass show a:b "),
    ],
)
def test_the_four_forms_are_read(text: str, scheme: Scheme, target: str) -> None:
    assert parse_reference(text) == Reference(scheme=scheme, target=target)


def refused(text: str) -> bool:
    """Say whether the grammar and the check of a config refuse a text."""
    with pytest.raises(ValueError) as caught:
        parse_reference(text)
    assert CANARY not in f"{caught.value!r}"
    return refuse(document(scope(secret_refs={"key": text}))) == [
        ("scopes/0/secret_refs/key", "invalid_secret_ref")
    ]


@pytest.mark.req("B-SECRET-05")
@pytest.mark.parametrize("text", ["hunter2", CANARY, "", " "])
def test_a_literal_is_refused(text: str) -> None:
    assert refused(text)


@pytest.mark.req("B-SECRET-06")
@pytest.mark.parametrize("text", ["env:", "keyring:", "file:", "cmd:", "cmd: "])
def test_an_empty_name_is_refused(text: str) -> None:
    assert refused(text)


@pytest.mark.req("B-SECRET-07")
@pytest.mark.parametrize("text", ["vault:x", "FILE:x", "Env:X", " env:X", ":x"])
def test_an_unknown_scheme_is_refused(text: str) -> None:
    assert refused(text)


@pytest.mark.req("B-SECRET-08", "B-SECRET-09")
@pytest.mark.parametrize(
    "name", ["../x", "/etc/x", "A", "1a", "a b", "a\n", "a" * 64, "a.json"]
)
def test_keyring_and_file_names_are_identifiers(name: str) -> None:
    assert refused(f"keyring:{name}")  # B-SECRET-08
    assert refused(f"file:{name}")  # B-SECRET-09


@pytest.mark.req("B-SECRET-10")
@pytest.mark.parametrize("name", ["1A", "A-B", "A B", "A\n", "Ä", "A=B"])
def test_variables_are_names_of_variables(name: str) -> None:
    assert refused(f"env:{name}")


def test_a_reference_does_not_show_its_target() -> None:
    reference = parse_reference(f"cmd:{CANARY}")
    assert CANARY not in f"{reference} {reference!r} {[reference]}"
    assert "cmd" in f"{reference!r}"

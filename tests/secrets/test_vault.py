from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from conduck_service.base.redaction import MARK, Redactor
from conduck_service.domain.scope import Connection
from conduck_service.secrets.resolve import SecretError
from conduck_service.secrets.source import SecretCode
from conduck_service.secrets.vault import Vault
from tests.config.build import accept, document, scope

CANARY = "canary value"


class Asked(Mapping[str, str]):
    """An environment that remembers which variables it was asked for."""

    def __init__(self, values: dict[str, str]) -> None:
        self.values_by_name = values
        self.names: list[str] = []

    def __getitem__(self, name: str) -> str:
        self.names.append(name)
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)


def keep(folder: Path, value: Any, bits: int = 0o600) -> None:
    path = folder / "secrets.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    path.chmod(bits)


def vault(
    folder: Path,
    environment: Mapping[str, str] | None = None,
    redactor: Redactor | None = None,
    **references: str,
) -> Vault:
    return Vault(
        references,
        folder=folder,
        environment=environment or {},
        redactor=redactor or Redactor(),
    )


def failure(made: Vault, name: str = "key") -> SecretError:
    with pytest.raises(SecretError) as caught:
        made.resolve([name])
    error = caught.value
    assert error.name == name
    assert error.remedy
    assert "canary" not in f"{error} {error!r} {error.__cause__!r}"
    return error


@pytest.mark.req("B-SECRET-02", "B-NAME-04", "B-SECRET-11")
def test_a_file_reference_is_a_key_of_the_secrets_file(tmp_path: Path) -> None:
    keep(tmp_path, {"key": "from-file"})
    (tmp_path / "other").write_text("canary")
    accept(document(scope(secret_refs={"key": "file:key"})))
    made = vault(tmp_path, key="file:key", other="file:other")
    assert made.resolve(["key"]) == {"key": "from-file"}  # B-SECRET-02, B-NAME-04
    assert failure(made, "other").code is SecretCode.MISSING  # B-SECRET-11


@pytest.mark.req("B-SECRET-03")
def test_an_env_reference_is_a_variable_of_the_daemon(tmp_path: Path) -> None:
    accept(document(scope(secret_refs={"key": "env:ENGINE_KEY"})))
    made = vault(tmp_path, {"ENGINE_KEY": "from-env"}, key="env:ENGINE_KEY")
    assert made.resolve(["key"]) == {"key": "from-env"}


@pytest.mark.parametrize("value", ["  v \r\n", "\n", "tökén ✓", "a\tb", "x" * 100_000])
def test_values_are_given_as_they_are(tmp_path: Path, value: str) -> None:
    keep(tmp_path, {"a": value})
    made = vault(tmp_path, {"B": value}, a="file:a", b="env:B")
    assert made.resolve(["a", "b"]) == {"a": value, "b": value}


def test_only_the_names_asked_for_are_resolved(tmp_path: Path) -> None:
    asked = Asked({"A": "value-a", "B": "value-b"})
    made = vault(tmp_path, asked, a="env:A", b="env:B", c="file:c")
    assert made.resolve(["b"]) == {"b": "value-b"}
    assert asked.names == ["B"]
    assert made.resolve([]) == {}


@pytest.mark.req("B-SECRET-28")
def test_a_secret_that_nobody_asks_for_may_be_missing(tmp_path: Path) -> None:
    keep(tmp_path, "not json", 0o644)
    made = vault(tmp_path / "gone", {"A": "value"}, a="env:A", b="file:b", c="env:C")
    assert made.resolve(["a"]) == {"a": "value"}


@pytest.mark.req("B-SECRET-38", "B-SECRET-39")
def test_every_acquisition_asks_anew(tmp_path: Path) -> None:
    environment = {"A": "first-a"}
    keep(tmp_path, {"b": "first-b"})
    made = vault(tmp_path, environment, a="env:A", b="file:b")
    assert made.resolve(["a", "b"]) == {"a": "first-a", "b": "first-b"}
    environment["A"] = "second-a"
    keep(tmp_path, {"b": "second-b"})
    assert made.resolve(["a", "b"]) == {  # B-SECRET-38, B-SECRET-39
        "a": "second-a",
        "b": "second-b",
    }


@pytest.mark.req("B-SECRET-42")
def test_a_name_without_reference_is_not_resolved(tmp_path: Path) -> None:
    keep(tmp_path, {"key": CANARY})
    error = failure(vault(tmp_path, {"key": CANARY}, other="file:key"))
    assert error.code is SecretCode.MISSING
    assert "secret_refs" in error.remedy


@pytest.mark.req("B-SECRET-35", "B-SECRET-36")
def test_what_cannot_be_had_is_refused_and_nothing_stands_in(tmp_path: Path) -> None:
    keep(tmp_path, {"empty": "", "there": CANARY})
    environment = {"EMPTY": "", "THERE": CANARY}
    codes = {
        text: failure(vault(tmp_path, environment, key=text, there="env:THERE")).code
        for text in ("file:gone", "env:GONE", "file:empty", "env:EMPTY")
    }
    assert codes == {  # B-SECRET-35, B-SECRET-36
        "file:gone": SecretCode.MISSING,
        "env:GONE": SecretCode.MISSING,
        "file:empty": SecretCode.EMPTY,
        "env:EMPTY": SecretCode.EMPTY,
    }


def test_without_a_secrets_file_its_secrets_are_missing(tmp_path: Path) -> None:
    made = vault(tmp_path, key="file:key")
    assert failure(made).code is SecretCode.MISSING
    assert "secret set" in failure(made).remedy


@pytest.mark.req("B-PERM-13")
@pytest.mark.parametrize("bits", [0o640, 0o604, 0o644])
def test_a_secrets_file_open_to_others_is_refused(tmp_path: Path, bits: int) -> None:
    keep(tmp_path, {"key": CANARY}, bits)
    error = failure(vault(tmp_path, key="file:key"))
    assert error.code is SecretCode.UNSAFE_FILE
    assert "chmod 600 secrets.json" in error.remedy


def test_a_linked_secrets_file_is_refused(tmp_path: Path) -> None:
    keep(tmp_path, {"key": CANARY})
    (tmp_path / "secrets.json").rename(tmp_path / "real.json")
    (tmp_path / "secrets.json").symlink_to("real.json")
    assert failure(vault(tmp_path, key="file:key")).code is SecretCode.UNSAFE_FILE


def test_a_secrets_file_in_a_folder_open_to_others_is_refused(tmp_path: Path) -> None:
    keep(tmp_path, {"key": CANARY})
    tmp_path.chmod(0o755)
    assert failure(vault(tmp_path, key="file:key")).code is SecretCode.UNSAFE_FILE


def test_what_is_wrong_with_a_file_is_told_without_its_path(tmp_path: Path) -> None:
    folder = tmp_path / "canary's folder"
    folder.mkdir(mode=0o700)
    keep(folder, {"key": "x"})
    for place, bits, remedy in (
        (folder / "secrets.json", 0o644, "chmod 600 secrets.json"),
        (folder, 0o755, "chmod 700 FOLDER"),
    ):
        before = place.stat().st_mode
        place.chmod(bits)
        error = failure(vault(folder, key="file:key"))
        place.chmod(before)
        assert error.code is SecretCode.UNSAFE_FILE
        assert error.remedy.endswith(remedy)
        assert "canary" not in str(error)


def test_a_missing_secrets_file_says_nothing_of_the_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    error = failure(vault(tmp_path, key="file:key"))
    assert error.code is SecretCode.MISSING
    assert "chmod" not in error.remedy


@pytest.mark.parametrize(
    "content",
    [
        "canary",
        '["canary"]',
        '{"key": "canary", "key": "canary"}',
        '{"key": "canary", "n": 1}',
        '{"key": "canary", "n": null}',
        '{"key": "canary\\u0000"}',
        '{"key": "canary\\ud800"}',
        '{"key": "canary' + "x" * (1 << 20) + '"}',
    ],
)
def test_a_secrets_file_is_one_object_of_texts(tmp_path: Path, content: str) -> None:
    keep(tmp_path, content)
    assert failure(vault(tmp_path, key="file:key")).code is SecretCode.UNSAFE_FILE


def test_a_broken_secrets_file_is_told_with_its_place(tmp_path: Path) -> None:
    keep(tmp_path, '{"key": "canary"\n "other": "canary"}')
    error = failure(vault(tmp_path, key="file:key"))
    assert "line 2, column 2" in error.remedy
    assert "canary" not in str(error)


def test_a_secrets_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    keep(tmp_path, {})
    (tmp_path / "secrets.json").write_bytes(b'{"key": "\xff"}')
    assert failure(vault(tmp_path, key="file:key")).code is SecretCode.UNSAFE_FILE


@pytest.mark.req("B-SECRET-49")
def test_a_value_is_known_to_the_redactor_before_it_is_given(tmp_path: Path) -> None:
    redactor = Redactor()
    keep(tmp_path, {"a": "value of a"})
    made = vault(tmp_path, {"B": "value of b"}, redactor, a="file:a", b="env:B")
    made.resolve(["a", "b"])
    assert redactor.clean("value of a, value of b") == f"{MARK}, {MARK}"


def test_values_before_a_failure_are_known_to_the_redactor_too(tmp_path: Path) -> None:
    redactor = Redactor()
    made = vault(tmp_path, {"A": "value of a"}, redactor, a="env:A", b="env:B")
    with pytest.raises(SecretError):
        made.resolve(["a", "b"])
    assert redactor.clean("value of a") == MARK


def test_no_object_shows_a_reference_or_a_value(tmp_path: Path) -> None:
    made = vault(tmp_path, {"CANARY": CANARY}, key="env:CANARY")
    made.resolve(["key"])
    assert "canary" not in f"{made!r} {made}".lower()


def connection(**secret_refs: str) -> Connection:
    return Connection(id="desk", type="openai_http", secret_refs=secret_refs)


def test_slots_of_a_connection_are_apart_from_secrets_of_the_scope(
    tmp_path: Path,
) -> None:
    environment = {"A": "of the scope", "B": "of the slot", "C": "of another"}
    made = vault(tmp_path, environment, api_key="env:A")
    desk = connection(api_key="env:B", other="env:C")
    assert made.resolve(["api_key"]) == {"api_key": "of the scope"}
    assert made.resolve_slot(desk, "api_key") == "of the slot"
    assert made.resolve_slots(desk) == {"api_key": "of the slot", "other": "of another"}
    assert made.resolve_slots(connection()) == {}


def test_a_slot_that_cannot_be_had_is_told_with_its_connection(tmp_path: Path) -> None:
    made = vault(tmp_path, {"A": CANARY}, api_key="env:A")
    with pytest.raises(SecretError) as caught:
        made.resolve_slots(connection(api_key="env:GONE"))
    assert caught.value.name == "desk.api_key"
    assert caught.value.code is SecretCode.MISSING


def test_a_slot_is_known_to_the_redactor_before_it_is_given(tmp_path: Path) -> None:
    redactor = Redactor()
    made = vault(tmp_path, {"A": "value of a"}, redactor)
    made.resolve_slot(connection(api_key="env:A"), "api_key")
    assert redactor.clean("value of a") == MARK


def test_what_two_names_refer_to_is_asked_for_once(tmp_path: Path) -> None:
    command = "cmd:echo once >> asked; echo value"
    made = vault(tmp_path, a=command, b=command)
    assert made.resolve(["a", "b"]) == {"a": "value", "b": "value"}
    assert (tmp_path / "asked").read_text() == "once\n"

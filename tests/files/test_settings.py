"""What the config of a files entry may say, and what follows from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conduck_service.domain.scope import ExtensionEntry, Scope
from conduck_service.extension.spec import Decoding
from conduck_service.files.settings import FILES_SPEC, FilesConfig, check_entry

WANTED = {
    "namespace": "home_files",
    "scope": "home",
    "port": 8481,
    "password_secret": "files_password",
}


def decode(**more: Any) -> FilesConfig:
    into = Decoding(base=Path("/nowhere/config"))
    found = FILES_SPEC.decode({**WANTED, **more}, (), into)
    assert into.problems == []
    assert isinstance(found, FilesConfig)
    return found


def refused(**more: Any) -> list[tuple[str, str]]:
    into = Decoding(base=Path("/nowhere/config"))
    FILES_SPEC.decode({**WANTED, **more}, (), into)
    return [(item.place, item.code) for item in into.problems]


def checked(**more: Any) -> list[tuple[str, str]]:
    entry = ExtensionEntry(
        name="files",
        type="conduck_files",
        config=decode(**more),
        secret_names=("files_password",),
    )
    into = Decoding(base=Path("/"))
    check_entry(entry, Scope(id="home", name="Home"), lambda _: None, into)
    return [(item.place, item.code) for item in into.problems]


def test_what_is_left_out_has_its_default() -> None:
    found = decode()
    assert (found.root, found.mode, found.keep_days) == (None, "2770", None)
    assert (found.max_upload_bytes, found.idle_seconds) == (2_147_483_648, 60.0)
    assert found.upload_events is False
    assert checked() == []


@pytest.mark.parametrize(
    ("mode", "umask", "file_mode", "folder_mode"),
    [
        ("2770", 0o007, 0o660, 0o2770),
        ("2775", 0o002, 0o664, 0o2775),
        ("0700", 0o077, 0o600, 0o700),
    ],
)
def test_modes_follow_from_one_word(
    mode: str, umask: int, file_mode: int, folder_mode: int
) -> None:
    found = decode(mode=mode)
    assert (found.umask, found.file_mode) == (umask, file_mode)
    assert found.folder_mode == folder_mode
    assert found.is_shared == (mode != "0700")


@pytest.mark.parametrize("key", ["username", "user", "realm"])
def test_there_is_no_key_for_a_username(key: str) -> None:
    assert refused(**{key: "conduck"}) == [(key, "unknown_field")]


@pytest.mark.parametrize("key", sorted(WANTED))
def test_a_key_without_default_is_wanted(key: str) -> None:
    into = Decoding(base=Path("/"))
    FILES_SPEC.decode({name: WANTED[name] for name in WANTED if name != key}, (), into)
    assert [(item.place, item.code) for item in into.problems] == [
        (key, "missing_field")
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("port", 0),
        ("port", 65536),
        ("mode", "777"),
        ("mode", "0770"),
        ("mode", 2770),
        ("root", ""),
        ("root", None),
        ("max_upload_bytes", 0),
        ("idle_seconds", 0.5),
        ("idle_seconds", 3601),
        ("keep_days", 0),
        ("keep_days", 1.5),
        ("keep_days", None),
        ("upload_events", "no"),
    ],
)
def test_values_out_of_bounds_are_refused(key: str, value: Any) -> None:
    assert [place for place, _ in refused(**{key: value})] == [key]


def test_a_relative_root_starts_at_the_config_directory() -> None:
    assert decode(root="../folder").root == Path("/nowhere/config/../folder")


def test_the_entry_must_fit_its_scope() -> None:
    assert checked(scope="other") == [("config/scope", "unknown_reference")]
    assert checked(password_secret="another") == [
        ("config/password_secret", "unknown_reference")
    ]


def test_nothing_is_taken_that_would_do_nothing() -> None:
    assert checked(upload_events=True) == [
        ("config/upload_events", "unsupported_capability")
    ]


def test_where_it_listens_and_what_it_serves_need_a_restart() -> None:
    fixed = {item.name for item in FILES_SPEC.fields if not item.live}
    assert fixed == {"port", "root"}
    hidden = {item.name for item in FILES_SPEC.fields if not item.shown}
    assert hidden == {"root", "password_secret"}

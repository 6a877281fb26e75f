"""Values in a keyring: asked for by a helper, within limits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conduck_service.base.redaction import Redactor
from conduck_service.secrets import keyring_client
from conduck_service.secrets.resolve import SecretError
from conduck_service.secrets.source import SecretCode
from conduck_service.secrets.vault import Vault
from tests.secrets.fake_keyring import CANARY
from tests.secrets.keyrings import NO_KEYRING, calls, fake_keyring
from tests.support.service import variables, wait_until


def vault(environment: dict[str, str], **references: str) -> Vault:
    return Vault(
        references,
        folder=Path("/nowhere"),
        environment=variables(environment),
        redactor=Redactor(),
    )


def failure(environment: dict[str, str], **references: str) -> SecretError:
    with pytest.raises(SecretError) as caught:
        vault(environment, **references).resolve(references)
    assert CANARY not in f"{caught.value!r} {caught.value.__context__!r}"
    assert caught.value.remedy
    return caught.value


@pytest.mark.req("B-SECRET-01", "B-NAME-03")
def test_a_keyring_reference_is_an_entry_of_our_service(tmp_path: Path) -> None:
    environment = fake_keyring(tmp_path, key="from the keyring", other="another")
    made = vault(environment, key="keyring:key", other="keyring:other")
    assert made.resolve(["key"]) == {"key": "from the keyring"}
    assert calls(tmp_path) == ["get open-conduit key"]  # B-NAME-03


@pytest.mark.parametrize("text", ["  v \r\n", "tökén ✓\n", '"\\', "x" * 100_000])
def test_values_are_given_as_they_are(tmp_path: Path, text: str) -> None:
    environment = fake_keyring(tmp_path, key=text)
    made = vault(environment, key="keyring:key")
    assert made.resolve(["key"]) == {"key": text}


def test_what_the_keyring_does_not_hold_is_missing(tmp_path: Path) -> None:
    environment = fake_keyring(tmp_path, other=CANARY, empty="", nul=f"{CANARY}\0")
    assert failure(environment, key="keyring:key").code is SecretCode.MISSING
    assert failure(environment, key="keyring:empty").code is SecretCode.EMPTY
    found = failure(environment, key="keyring:nul")
    assert found.code is SecretCode.KEYRING_UNAVAILABLE


@pytest.mark.req("B-SECRET-50")
@pytest.mark.parametrize("fault", ["broken", "dies"])
def test_what_a_keyring_says_in_its_failure_is_not_told(
    tmp_path: Path, fault: str, capfd: pytest.CaptureFixture[str]
) -> None:
    environment = fake_keyring(tmp_path, fault, key=CANARY)
    found = failure(environment, key="keyring:key")
    assert found.code is SecretCode.KEYRING_UNAVAILABLE
    assert capfd.readouterr() == ("", "")


def test_a_keyring_may_talk(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    environment = fake_keyring(tmp_path, "talks", key="value")
    assert vault(environment, key="keyring:key").resolve(["key"]) == {"key": "value"}
    assert capfd.readouterr() == ("", "")


def test_a_keyring_that_waits_for_a_person_is_given_up_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring_client, "SECONDS", 2.0)
    environment = fake_keyring(tmp_path, "locked", key=CANARY)
    found = failure(environment, key="keyring:key")
    assert found.code is SecretCode.KEYRING_UNAVAILABLE
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        wait_until(lambda: os.kill(pid, 0))


def alternative(folder: Path, module: str) -> dict[str, str]:
    """Return the variables of a backend that keeps its values in a plain file."""
    *parents, name = module.split(".")
    package = folder / "site"
    for part in parents:
        package /= part
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
    (package / f"{name}.py").write_text(
        "from keyring.backend import KeyringBackend\n"
        "class Plain(KeyringBackend):\n"
        "    priority = 1\n"
        "    def get_password(self, service, name):\n"
        f"        return {CANARY!r}\n"
        "    def set_password(self, service, name, value): pass\n"
        "    def delete_password(self, service, name): pass\n"
    )
    return {
        "PYTHONPATH": str(folder / "site"),
        "PYTHON_KEYRING_BACKEND": f"{module}.Plain",
    }


def test_backends_that_keep_nothing_or_keep_it_openly_are_none(tmp_path: Path) -> None:
    for environment in (
        NO_KEYRING,
        {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"},
        alternative(tmp_path, "keyrings.alt.file"),
        {"PYTHON_KEYRING_BACKEND": "there.is.None"},
    ):
        found = failure(environment, key="keyring:key")
        assert found.code is SecretCode.KEYRING_UNAVAILABLE


def test_the_library_is_optional(tmp_path: Path) -> None:
    (tmp_path / "keyring.py").write_text(f"raise ImportError({CANARY!r})")
    found = failure({"PYTHONPATH": str(tmp_path)}, key="keyring:key")
    assert found.code is SecretCode.KEYRING_UNAVAILABLE
    assert "conduck-service[keyring]" in found.remedy


def test_no_module_of_the_present_folder_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keyring.py").write_text("raise ImportError")
    monkeypatch.chdir(tmp_path)
    environment = fake_keyring(tmp_path / "held", key="value")
    assert vault(environment, key="keyring:key").resolve(["key"]) == {"key": "value"}

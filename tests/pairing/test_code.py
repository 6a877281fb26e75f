"""The code says what it has to, byte for byte, and its picture can be read."""

from __future__ import annotations

import base64
import os
import re
import subprocess
from pathlib import Path

import pytest

from conduck_service.pairing.address import admissible
from conduck_service.pairing.code import SetupCode, check_name, guess_transport
from conduck_service.pairing.picture import BORDER, NARROW_BORDER, Picture
from conduck_service.pairing.refusal import RefusedError
from tests.support.checker import SCRIPT_VARIABLE
from tests.support.qr import (
    PREFIX,
    of_png,
    of_svg,
    of_terminal,
    payload,
    quiet_zone,
    read_code,
)
from tests.support.service import variables

CODE = SetupCode(
    name="Größe 🐳",
    chat=admissible("https://chat.example.org"),
    token='tökén-/+"\\' + "x" * 40,
    model="large",
    files=admissible("https://files.example.org"),
    password="p" * 43,
)
CHAT_ONLY = SetupCode(name="a", chat=admissible("http://10.0.0.1"), token="t")


def test_the_code_says_all_that_the_app_needs() -> None:
    assert payload(CODE.text()) == {
        "v": 1,
        "gateway": {
            "kind": "custom",
            "url": "https://chat.example.org",
            "auth": "bearer",
            "name": CODE.name,
            "token": CODE.token,
            "model": "large",
        },
        "transport": "public",
        "fileServer": {
            "url": "https://files.example.org",
            "credential": CODE.password,
        },
    }


def test_what_there_is_not_is_left_out() -> None:
    said = payload(CHAT_ONLY.text())
    assert set(said) == {"v", "gateway", "transport"}
    assert set(said["gateway"]) == {"kind", "url", "auth", "name", "token"}


def test_a_code_shows_no_secret_by_accident() -> None:
    assert CODE.token not in repr(CODE)
    assert CODE.password not in repr(CODE)


@pytest.mark.slow
@pytest.mark.skipif(
    SCRIPT_VARIABLE not in os.environ, reason=f"{SCRIPT_VARIABLE} names no public tool"
)
@pytest.mark.parametrize("code", [CODE, CHAT_ONLY])
def test_the_public_tool_writes_the_same_bytes(code: SetupCode) -> None:
    script = Path(os.environ[SCRIPT_VARIABLE]).read_text("utf-8")
    writer = re.search(r"^build_pairing_payload_json\(\).*?^\}$", script, re.M | re.S)
    assert writer is not None
    told = {
        "GW_KIND": "custom",
        "GW_NAME": code.name,
        "GW_URL": code.chat.text,
        "GW_AUTH": "bearer",
        "GW_TOKEN": code.token,
        "GW_MODEL": code.model,
        "FS_URL": code.files.text if code.files else "",
        "FS_CRED": code.password,
        "TRANSPORT": code.transport,
        "PAYLOAD_VERSION": "1",
    }
    done = subprocess.run(
        ["bash", "-c", f"{writer[0]}\nbuild_pairing_payload_json"],
        check=True,
        capture_output=True,
        env=variables(told),
    )
    ours = base64.b64decode(code.text().removeprefix(PREFIX))
    assert done.stdout.rstrip(b"\n") == ours


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("https://box.tail1234.ts.net:8443", "tailscale"),
        ("https://a-b-c.trycloudflare.com", "cloudflare"),
        ("https://ts.net.example.org", "public"),
        ("http://10.0.0.1", "public"),
    ],
)
def test_the_hint_about_the_front_is_guessed(address: str, hint: str) -> None:
    assert guess_transport(admissible(address)) == hint


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "name_length"),
        (" \t", "name_length"),
        ("x" * 121, "name_length"),
        ("a\nb", "name_characters"),
        ("a\x1b[2Jb", "name_characters"),
        ("a\u202eb", "name_characters"),
        ("a\u2066b", "name_characters"),
        ("a\u2028b", "name_characters"),
        ("a\ud800", "name_characters"),
    ],
)
def test_a_name_that_the_app_refuses_is_refused(name: str, code: str) -> None:
    with pytest.raises(RefusedError) as caught:
        check_name(name)
    assert caught.value.code == code


@pytest.mark.parametrize("name", ["x" * 120, "Größe", "👩\u200d🚀 agent"])
def test_other_names_are_kept(name: str) -> None:
    assert check_name(f" {name} ") == name


@pytest.mark.parametrize("code", [CODE, CHAT_ONLY])
def test_files_hold_a_picture_that_can_be_read(code: SetupCode) -> None:
    picture = Picture.of(code.text())
    for pixels, scale in ((of_png(picture.png()), 8), (of_svg(picture.svg()), 1)):
        assert read_code(pixels) == code.text()
        assert quiet_zone(pixels) == BORDER * scale


@pytest.mark.parametrize("paper", [0, 255])
@pytest.mark.parametrize("room", [0, 1, 60])
@pytest.mark.parametrize("border", [BORDER, NARROW_BORDER])
def test_a_terminal_shows_it_on_dark_and_on_light(
    border: int, room: int, paper: int
) -> None:
    whole = Picture.of(CODE.text())
    size = whole.columns - 2 * (BORDER - border)
    picture = whole.within(size)
    assert picture is not None
    assert (picture.columns, picture.border) == (size, border)
    text = "\n".join(picture.in_terminal())
    pixels = of_terminal(text, columns=size + room, paper=paper)
    assert len(pixels) == 2 * picture.lines
    assert read_code(pixels) == CODE.text()
    # What belongs to the picture is light to its edge, whatever is beside it.
    own = [row[:size] for row in pixels[:size]]
    assert quiet_zone(own) == border


def test_a_terminal_that_is_too_narrow_gets_none() -> None:
    whole = Picture.of(CODE.text())
    assert whole.within(whole.columns - 5) is None


def test_a_usual_code_fits_into_a_usual_terminal() -> None:
    usual = SetupCode(
        name="my-machine",
        chat=admissible("https://my-machine.tail1234.ts.net"),
        token="t" * 43,
        files=admissible("https://my-machine.tail1234.ts.net:8443"),
        password="p" * 43,
        transport="tailscale",
    )
    assert Picture.of(usual.text()).within(80) is not None


def test_a_code_that_no_picture_holds_is_refused() -> None:
    with pytest.raises(RefusedError) as caught:
        Picture.of(CODE.text() + "x" * 3000)
    assert caught.value.code == "code_too_long"

"""Which addresses the app accepts; a code with any other would be refused whole."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from conduck_service.pairing.address import Reach, admissible, chat_address
from conduck_service.pairing.refusal import RefusedError
from tests.support.checker import SCRIPT_VARIABLE

GOOD = [
    ("https://chat.example.org", Reach.ANYWHERE),
    ("https://chat.example.org:8443", Reach.ANYWHERE),
    ("https://example.org/agents/mine", Reach.ANYWHERE),
    ("https://box.tail1234.ts.net", Reach.ANYWHERE),
    ("https://100.100.1.2", Reach.ANYWHERE),
    ("https://nas", Reach.ANYWHERE),
    ("https://xn--bcher-kva.example", Reach.ANYWHERE),
    ("https://[2001:db8::1]:8443", Reach.ANYWHERE),
    ("http://127.0.0.1:8480", Reach.MACHINE),
    ("http://127.255.0.9", Reach.MACHINE),
    ("http://localhost:8480", Reach.MACHINE),
    ("http://[::1]:8480", Reach.MACHINE),
    ("http://10.0.0.1", Reach.NETWORK),
    ("http://172.16.0.1", Reach.NETWORK),
    ("http://172.31.255.255", Reach.NETWORK),
    ("http://192.168.1.20:8480", Reach.NETWORK),
    ("http://169.254.7.7", Reach.NETWORK),
    ("http://[fd00::1]", Reach.NETWORK),
    ("http://[fc00::1]:8480", Reach.NETWORK),
    ("http://[fe80::1]", Reach.NETWORK),
    ("http://[febf::1]", Reach.NETWORK),
    ("http://mini.local:8480", Reach.NETWORK),
    ("http://my.mini.local", Reach.NETWORK),
]

BAD = [
    ("chat.example.org", "url_scheme"),
    ("ftp://chat.example.org", "url_scheme"),
    ("//chat.example.org", "url_scheme"),
    ("localhost:8480", "url_scheme"),
    ("", "url_scheme"),
    ("https://", "url_host"),
    ("https:///path", "url_host"),
    ("https://.example.org", "url_host"),
    ("https://a..b", "url_host"),
    ("https://-a.example", "url_host"),
    ("https://a_b-.example", "url_host"),
    (f"https://{'a' * 64}.example", "url_host"),
    (f"https://{'a.' * 127}org", "url_host"),
    ("https://[::1", "url_host"),
    ("https://[fe80::1%25en0]", "url_host"),
    ("http://[fe80::1%en0]", "url_host"),
    ("https://0.0.0.0", "url_host"),
    ("http://[::]", "url_host"),
    ("https://example.org:0", "url_port"),
    ("https://example.org:", "url_port"),
    ("https://example.org:65536", "url_port"),
    ("https://example.org:http", "url_port"),
    ("https://me:secret@example.org", "url_credentials"),
    ("http://192.168.1.1@example.org", "url_credentials"),
    ("https://@example.org", "url_credentials"),
    ("https://example.org?x=1", "url_query"),
    ("https://example.org/?", "url_query"),
    ("https://example.org/#", "url_query"),
    ("https://exa mple.org", "url_characters"),
    ("https://example.org\n", "url_characters"),
    ("https://bücher.example", "url_characters"),
    ("https://example.org\\evil", "url_characters"),
    ("http://127.1", "url_number"),
    ("http://0x7f000001", "url_number"),
    ("http://0x7f.0.0.1", "url_number"),
    ("http://2130706433", "url_number"),
    ("http://192.168.01.1", "url_number"),
    ("http://192.168.1.256", "url_number"),
    ("http://192.168.1.1.1", "url_number"),
    ("https://foo.127", "url_number"),
    ("http://[fd00::12345]", "url_host"),
    ("http://nas:8480", "url_single_label"),
    ("http://local", "url_single_label"),
    ("http://nas.", "url_single_label"),
    ("http://example.org", "url_not_private"),
    ("http://mini.local.example.org", "url_not_private"),
    ("http://xlocal.localx", "url_not_private"),
    ("http://8.8.8.8", "url_not_private"),
    ("http://172.15.0.1", "url_not_private"),
    ("http://172.32.0.1", "url_not_private"),
    ("http://0.1.2.3", "url_not_private"),
    ("http://[fec0::1]", "url_not_private"),
    ("http://[fc0::1]", "url_not_private"),
    ("http://[2001:db8::1]", "url_not_private"),
    ("http://[::ffff:192.168.1.1]", "url_not_private"),
    ("http://100.64.0.1", "url_overlay"),
    ("http://100.127.255.255", "url_overlay"),
]


def refusal_of(text: str) -> str:
    """Return the code of the refusal, or nothing."""
    try:
        admissible(text)
    except RefusedError as error:
        assert error.reason
        assert error.remedy
        return error.code
    return ""


@pytest.mark.parametrize(("text", "reach"), GOOD)
def test_what_the_app_accepts_stays_as_it_is(text: str, reach: Reach) -> None:
    found = admissible(text)
    assert (found.text, found.reach) == (text, reach)


@pytest.mark.parametrize(("text", "code"), BAD)
def test_what_the_app_refuses_is_refused_with_its_reason(text: str, code: str) -> None:
    assert refusal_of(text) == code


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("HTTPS://Chat.Example.ORG/", "https://chat.example.org"),
        ("https://example.org/agents/", "https://example.org/agents"),
        ("http://mini.local.:8480/", "http://mini.local:8480"),
        ("http://[0:0:0:0:0:0:0:1]:80", "http://[::1]:80"),
        ("http://[FD00:0::A]", "http://[fd00::a]"),
    ],
)
def test_there_is_one_spelling_of_an_address(text: str, written: str) -> None:
    assert admissible(text).text == written


@pytest.mark.parametrize(
    "route", ["/v1", "/v1/", "/v1/models", "/v1/chat/completions", "/v1/chat"]
)
def test_a_route_of_chat_is_left_to_the_app(route: str) -> None:
    with pytest.raises(RefusedError) as caught:
        chat_address(f"https://example.org/agent{route}")
    assert caught.value.code == "url_route"
    assert caught.value.remedy == "write https://example.org/agent"
    assert chat_address("https://example.org/v1x").text == "https://example.org/v1x"


@pytest.mark.slow
@pytest.mark.skipif(
    SCRIPT_VARIABLE not in os.environ, reason=f"{SCRIPT_VARIABLE} names no public tool"
)
def test_the_public_tool_draws_the_same_line(tmp_path: Path) -> None:
    script = Path(os.environ[SCRIPT_VARIABLE]).read_text("utf-8")
    rule = re.search(r"^url_is_local_host\(\).*?^\}$", script, re.M | re.S)
    if rule is None:
        pytest.skip("this version of the public tool has no such rule")
    plain = [text for text, _ in (*GOOD, *BAD) if text.startswith("http://")]
    # A code has other ways to be wrong than a host that is not local; the tool takes
    # the bare word local, strips zones, and reads no more of IPv6 than its beginning.
    skipped = ("http://local", "http://[fe80::1%en0]", "http://[fd00::12345]")
    hosts = {text: text[7:].partition("/")[0] for text in plain if text not in skipped}
    (tmp_path / "rule.sh").write_text(
        rule[0] + '\nfor host; do url_is_local_host "$host"; echo $?; done\n', "utf-8"
    )
    told = subprocess.run(
        ["bash", str(tmp_path / "rule.sh"), *hosts.values()],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    theirs = {text: word == "0" for text, word in zip(hosts, told, strict=True)}
    assert theirs == {text: refusal_of(text) == "" for text in hosts}

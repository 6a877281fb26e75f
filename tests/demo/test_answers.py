"""What the demo engine answers when nothing is to be made."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.demo.lane import OUTBOUND, Lane, listing, run_engine

DIGITS = bytes(range(256)) * 7


@pytest.mark.parametrize(
    "text",
    [
        "pong",
        "two lines\nand  a third: \n\nlast",
        "Grüße 🐳, 写真",
        "\ttabbed\r\nend",
        'Make x.txt containing "y"',
    ],
)
def test_an_exact_reply_is_given_byte_for_byte(text: str, lane: Lane) -> None:
    assert lane.ask(f"Reply with exactly: {text}") == text
    assert not lane.has_folder()


def test_an_exact_reply_leaves_out_every_block_that_the_app_appended(
    lane: Lane,
) -> None:
    inlined = (
        '--- "a.txt" (untrusted user-provided file contents) ---\n'
        f"````\n```\n{OUTBOUND.replace('out-', 'evil-')}\n```\n````"
    )
    voice = "[Conduck voice] Answer briefly.\nNo lists."
    lane.send("a.txt", b"a")
    words = f"Reply with exactly: pong\n\nping\n\n{inlined}"
    note = "2 image(s) were attached to this message but are not included here."
    message = f"{lane.message(words)}\n\n{note}\n\n{voice}"
    done = run_engine(message.encode(), lane.root)
    assert done.stdout == b"pong\n\nping"


def test_without_a_request_it_says_what_it_is_and_what_it_was_sent(
    lane: Lane,
) -> None:
    newest = b"Hello there!"
    argv = ("--earlier-messages", "4", "--earlier-photos", "1")
    prompt = b"user: Reply with exactly: old\n\n" + newest
    done = run_engine(prompt, lane.root, (*argv, "--newest-bytes", str(len(newest))))
    answer = done.stdout.decode()
    assert "demo engine of conduck-service" in answer
    assert "no AI" in answer
    assert "4 earlier messages and 1 earlier photo." in answer


def test_only_the_newest_message_is_answered(lane: Lane) -> None:
    newest = "Reply with exactly: äöü".encode()
    prompt = f"user: Make old.txt\n{OUTBOUND}\n\n".encode() + newest
    done = run_engine(prompt, lane.root, ("--newest-bytes", str(len(newest))))
    assert done.stdout.decode() == "äöü"
    assert not lane.has_folder()


@pytest.mark.parametrize("size", ["0", "99999999"])
def test_a_strange_count_of_newest_bytes_is_survived(size: str, lane: Lane) -> None:
    done = run_engine(b"Hello", lane.root, ("--newest-bytes", size))
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"no AI" in done.stdout


def test_photos_are_told_by_type_size_and_digest(lane: Lane, tmp_path: Path) -> None:
    jpeg, png = tmp_path / "one.jpg", tmp_path / "two.bin"
    jpeg.write_bytes(DIGITS)
    png.write_bytes(b"")
    argv = ("--photo", str(jpeg), "--photo", str(png), "image/png")
    answer = run_engine(b"", lane.root, argv).stdout.decode()
    digest = hashlib.sha256(DIGITS).hexdigest()
    assert f"image/jpeg, {len(DIGITS)} bytes and the SHA-256 {digest}." in answer
    empty = hashlib.sha256(b"").hexdigest()
    assert f"image/png, no bytes and the SHA-256 {empty}." in answer


def test_a_photo_that_is_gone_is_said_to_be_gone(lane: Lane) -> None:
    done = run_engine(b"", lane.root, ("--photo", "/nowhere/x.jpg", "image/jpeg"))
    assert done.returncode == 0
    assert b"A photo of type image/jpeg could not be opened." in done.stdout


def test_listed_files_are_told_by_name_and_size(lane: Lane) -> None:
    lane.send("report.pdf", b"12345")
    lane.send("Gr\u00fc\u00dfe vom Meer.txt", b"")
    answer = lane.ask("How long are these two?")
    assert 'It opened the file "report.pdf": 5 bytes.' in answer
    assert 'It opened the file "Grüße vom Meer.txt": no bytes.' in answer
    assert not lane.has_folder()


def test_every_list_of_the_app_is_read(lane: Lane) -> None:
    lane.send("photo.heic", b"photo")
    lane.send("note.md", b"note")
    blocks = [
        "Look at both.",
        listing(lane.sent[0]).replace(
            listing().splitlines()[0],
            "You can already see the attached image(s); the originals are here:",
        ),
        listing(lane.sent[1]).replace(
            listing().splitlines()[0],
            "The readable contents of the file(s) below are already included above."
            " The originals:",
        ),
        OUTBOUND,
    ]
    answer = run_engine("\n\n".join(blocks).encode(), lane.root).stdout.decode()
    assert 'It opened the file "photo.heic": 5 bytes.' in answer
    assert 'It opened the file "note.md": 4 bytes.' in answer


def test_help_says_that_it_is_a_demo_without_ai(tmp_path: Path) -> None:
    done = run_engine(b"", tmp_path, ("--help",))
    assert done.returncode == 0
    assert b"It is a demo and has no AI." in done.stdout


@pytest.mark.parametrize("argv", [("--what", "1"), ("--earlier-messages", "many")])
def test_a_wrong_command_line_is_refused(argv: tuple[str, ...], tmp_path: Path) -> None:
    done = run_engine(b"", tmp_path, argv)
    assert done.returncode == 1
    assert done.stderr.startswith(b"demo_engine: ")

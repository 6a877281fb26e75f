"""What the public checker asks of a file lane, asked by ourselves.

As in ``probes``: each probe sends what the checker's probe of that name sends, and
raises AssertionError when the checker would call it red.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path

import requests

from tests.support.lane import DIRECTIVE, Lane
from tests.support.probes import Probes, answer_of
from tests.support.raw_http import RawResponse
from tests.support.service import user

_LIST = (
    "The following file(s) are in your working directory \N{EM DASH} "
    "use them for this request:"
)
_EXPECT = [("Expect", "100-continue")]
_FIRST_BYTE = [("Range", "bytes=0-0")]


@dataclass(slots=True)
class FileProbes:
    """A lane, and the adapter that its files go to.

    Attributes:
        chat: The adapter.
        lane: The lane, with the right password.
        run: What the names of this run hold.
        files: Paths of files that were written.
        folders: Paths of folders that were made.
    """

    chat: Probes
    lane: Lane
    run: str = field(default_factory=lambda: secrets.token_hex(4))
    files: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)

    @property
    def _base(self) -> str:
        return f"/conduck-check-{self.run}"

    def _put(self, path: str, body: bytes, lane: Lane | None = None) -> RawResponse:
        self.files.append(path)
        return (lane or self.lane).put(path, body, headers=_EXPECT)

    def write_through(self) -> None:
        """What is uploaded lies in the folder."""
        path, body = f"{self._base}-wt.txt", f"write-through {self.run}\n".encode()
        assert is_success(self._put(path, body))
        assert self.lane.at(path).read_bytes() == body

    def auth(self) -> None:
        """Neither reading nor writing goes without the password."""
        wrong = replace(self.lane, password="wrong-" + self.run)
        for index, lane in enumerate((replace(self.lane, user=None), wrong)):
            assert lane.get(f"{self._base}-wt.txt").status in (401, 403)
            path = f"{self._base}-auth-{index}.txt"
            assert self._put(path, b"x", lane).status in (401, 403)
            assert not self.lane.at(path).exists()

    def read_fresh(self) -> None:
        """What is written on the disk is there at the very next look."""
        path = f"{self._base}-fresh.txt"
        assert self.lane.get(path, headers=_FIRST_BYTE).status == 404
        self.files.append(path)
        self.lane.at(path).write_bytes(b"fresh")
        assert is_success(self.lane.get(path, headers=_FIRST_BYTE))

    def probe_compat(self) -> None:
        """The first byte alone comes as a part."""
        answer = self.lane.get(f"{self._base}-wt.txt", headers=_FIRST_BYTE)
        assert answer.status == 206
        assert answer.values("Content-Range")

    def nested(self) -> None:
        """An upload into a folder comes back as it was."""
        folder = f"{self._base}-dir/"
        self.lane.mkcol(folder)
        self.folders.append(folder)
        body = f"nested {self.run}\n".encode()
        assert is_success(self._put(f"{folder}n.txt", body))
        assert self.lane.get(f"{folder}n.txt").body == body

    def listing(self) -> None:
        """A folder that is not there is a miss, and one that is lists its files."""
        folder = f"{self._base}-dir/"
        absent = f"{folder}conduck-check-{self.run}-absent-{secrets.token_hex(8)}/"
        assert self.lane.propfind(absent).status == 404
        assert "n.txt" in self.lane.seen_by_app(folder)

    def copy_bytes(self) -> str:
        """One turn copies a file to where the message says; return its path."""
        name = f"{secrets.token_hex(4)}__input-{self.run}.txt"
        sent, body = f"conduck-check-{self.run}/{name}", secrets.token_bytes(32).hex()
        self.lane.mkcol(f"{self._base}/")
        assert is_success(self._put(f"/{sent}", f"{body}\n".encode()))
        above = f"conduck-check-{self.run}-out"
        folder = f"{above}/out-{secrets.token_hex(16)}"
        output = f"{folder}/output-{self.run}.txt"
        for path in (f"{above}/", f"{folder}/"):
            assert self.lane.propfind(path, "0").status == 404
        assert self.lane.get(output).status == 404
        self.files.append(f"/{output}")
        self.folders += [f"{self._base}/", f"/{above}/", f"/{folder}/"]
        answer_of(self._turn(sent, folder))
        place = self.lane.at(output)
        assert place.is_file()
        assert not place.is_symlink()
        assert place.read_bytes() == f"{body}\n".encode()
        return output

    def _turn(self, sent: str, folder: str) -> requests.Response:
        message = (
            "Copy the input file listed below into a new file named "
            f"output-{self.run}.txt, byte for byte. Finish the write before replying. "
            "Then reply with one short sentence saying you are done.\n\n"
            f'{_LIST}\n- "input-{self.run}.txt" (saved as {sent})\n\n'
            f"{DIRECTIVE}{folder}"
        )
        return self.chat.chat([user(message)], model=self.chat.ids[0])

    def end_to_end(self, output: str) -> None:
        """The one listing at once has the file, which is fetched whole."""
        folder, _, name = output.rpartition("/")
        assert name in self.lane.seen_by_app(f"{folder}/")
        fetched = self.lane.get(output)
        assert fetched.status == 200
        assert fetched.body == self.lane.at(output).read_bytes()

    def delete(self) -> None:
        """Everything that was written can be removed."""
        for path in (*self.files, *reversed(self.folders)):
            assert self.lane.delete(path).status in (*range(200, 300), 404), path
            assert not self.lane.at(path).exists()

    def everything(self) -> None:
        """Everything of the file profile, in the checker's order."""
        before = entries(self.lane.folder)
        self.chat.models_envelope()
        self.write_through()
        self.auth()
        self.read_fresh()
        self.probe_compat()
        self.nested()
        self.listing()
        self.end_to_end(self.copy_bytes())
        assert entries(self.lane.folder) != before
        self.delete()
        assert entries(self.lane.folder) == before


def is_success(answer: RawResponse) -> bool:
    """Say whether a status is one of success."""
    return 200 <= answer.status < 300


def entries(folder: Path) -> list[str]:
    """Return the names of everything below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))

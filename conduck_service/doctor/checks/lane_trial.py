"""One trial of a file lane: what the app's own test does, with a look at the disk."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from conduck_service.doctor.context import (
    NEEDS_SERVICE,
    DoctorContext,
    Lane,
    NotMadeError,
)
from conduck_service.doctor.finding import Declared, Finding, Level
from conduck_service.doctor.peer import Peer, PeerError, Reply

_CAUSES = ("lane_silent", "service_down", "lane_port_taken", "lane_folder_unusable")

LANE_PASSWORD_REFUSED = Declared(
    code="lane_password_refused",
    level=Level.FAIL,
    text="the running service does not take the user conduck with the password of "
    "this config",
    remedy="start the service anew; its log says a secret is not available when it "
    "could not read the password",
    depends_on=(*_CAUSES, "config_newer"),
)
_SIGNED_IN = (*_CAUSES, "lane_password_refused")
LANE_WRITE_REFUSED = Declared(
    code="lane_write_refused",
    level=Level.FAIL,
    text="a file cannot be uploaded",
    remedy="look at the modes of the shared folder and at the room on its disk",
    depends_on=(*_SIGNED_IN, "disk_full"),
)
LANE_ELSEWHERE = Declared(
    code="lane_elsewhere",
    level=Level.FAIL,
    text="what is uploaded does not arrive in the shared folder of this config",
    remedy="start the service anew, or name its config with --config",
    depends_on=(*_SIGNED_IN, "lane_write_refused", "config_newer"),
)
LANE_MODES = Declared(
    code="lane_modes",
    level=Level.WARN,
    text="what is uploaded gets another mode than the config says, so another user's "
    "engine may not get at it",
    remedy="look at the file system of the shared folder: some know no modes",
    depends_on=(*_SIGNED_IN, "lane_write_refused", "lane_elsewhere"),
)
LANE_READ_DIFFERS = Declared(
    code="lane_read_differs",
    level=Level.FAIL,
    text="what is in the shared folder does not come back as it is",
    remedy="look at what stands between this command and the folder",
    depends_on=(*_SIGNED_IN, "lane_write_refused", "lane_elsewhere"),
)
LANE_STALE = Declared(
    code="lane_stale",
    level=Level.FAIL,
    text="a new file in the shared folder is not seen within two seconds",
    remedy="serve the folder itself, no mount of another machine that caches it",
    depends_on=(*_SIGNED_IN, "lane_elsewhere"),
)
LANE_NO_MISS = Declared(
    code="lane_no_miss",
    level=Level.FAIL,
    text="the lane does not say a definite no where there is nothing, so the app "
    "names no folder for returned files",
    remedy="look at what answers instead of the service",
    depends_on=_SIGNED_IN,
)
LANE_SLOW = Declared(
    code="lane_slow",
    level=Level.WARN,
    text="the lane answers too slowly for the app, which waits four seconds",
    remedy="look at the load and at the disk of this machine",
    depends_on=_SIGNED_IN,
)
LANE_LISTING = Declared(
    code="lane_listing",
    level=Level.FAIL,
    text="a listing does not show what is there",
    remedy="look at what answers instead of the service",
    depends_on=(*_SIGNED_IN, "lane_write_refused"),
)
LANE_LEFT_BEHIND = Declared(
    code="lane_left_behind",
    level=Level.FAIL,
    text="a file that the lane says it removed is still there",
    remedy="remove what begins with __conduck_probe_, and look at the modes",
    depends_on=(*_SIGNED_IN, "lane_write_refused", "lane_elsewhere"),
)
TRIAL = (
    LANE_PASSWORD_REFUSED,
    LANE_WRITE_REFUSED,
    LANE_ELSEWHERE,
    LANE_MODES,
    LANE_READ_DIFFERS,
    LANE_STALE,
    LANE_NO_MISS,
    LANE_SLOW,
    LANE_LISTING,
    LANE_LEFT_BEHIND,
)

FRESH_SECONDS = 2.0
APP_SECONDS = 4.0
CONTENT = b"conduck-probe"

_PAUSE = 0.1


def look_at_trial(context: DoctorContext, lane: Lane) -> Iterator[Finding]:
    """Sign in, upload, look on the disk, read, list, miss and remove."""
    if context.service is None:
        raise NotMadeError(NEEDS_SERVICE)
    trial = Trial(lane, context.signed_in(lane))
    try:
        yield from trial.findings()
    except PeerError as error:
        raise NotMadeError(str(error)) from None
    finally:
        trial.clear()


@dataclass(slots=True)
class Trial:
    """A trial of one lane; what it makes bears names of its own.

    Attributes:
        lane: The lane.
        peer: The lane, signed in.
        tag: In every name.
    """

    lane: Lane
    peer: Peer
    tag: str = field(default_factory=lambda: secrets.token_hex(4))

    @property
    def _file(self) -> str:
        return f"__conduck_probe_{self.tag}.txt"

    @property
    def _folder(self) -> str:
        return f"__conduck_probe_{self.tag}__"

    def findings(self) -> Iterator[Finding]:
        """Yield what goes wrong, step by step."""
        if self._ask("PROPFIND", "").status == 401:
            yield self._found(LANE_PASSWORD_REFUSED)
            return
        yield from self._misses("")
        for path in (self._file, f"{self._folder}/{self.tag}.txt"):
            if "/" in path:
                self._ask("MKCOL", self._folder)
            yield from self._upload(path)
        yield from self._fresh()
        yield from self._listing()
        yield from self._misses(f"{self._folder}/")
        yield from self._removal()

    def clear(self) -> None:
        """Remove what is left: through the lane, and then past it."""
        with contextlib.suppress(PeerError):
            self._remove()
        root = self.lane.root
        with contextlib.suppress(OSError):
            for path in (root / self._folder).iterdir():
                path.unlink()
            (root / self._folder).rmdir()
        for name in (self._file, self._fresh_name):
            (root / name).unlink(missing_ok=True)

    def _upload(self, path: str) -> Iterator[Finding]:
        reply = self._ask("PUT", path, CONTENT)
        if reply.status not in {200, 201, 204}:
            yield self._found(LANE_WRITE_REFUSED, f"status {reply.status}")
            return
        place = self.lane.root / path
        if not place.is_file() or place.read_bytes() != CONTENT:
            yield self._found(LANE_ELSEWHERE)
            return
        yield from self._modes(place)
        if self._ask("GET", path).body != CONTENT:
            yield self._found(LANE_READ_DIFFERS)

    def _modes(self, place: Path) -> Iterator[Finding]:
        config = self.lane.config
        wanted = {place: config.file_mode}
        if place.parent != self.lane.root:
            wanted[place.parent] = config.folder_mode
        for path, mode in wanted.items():
            found = stat.S_IMODE(path.stat().st_mode)
            if found != mode:
                yield self._found(LANE_MODES, f"{found:o} where {mode:o} is wanted")

    @property
    def _fresh_name(self) -> str:
        return f"__conduck_probe_{self.tag}_fresh.txt"

    def _fresh(self) -> Iterator[Finding]:
        """Make a file as an engine does, on the disk, and wait for the lane."""
        if self._ask("GET", self._fresh_name).status != 404:
            yield self._found(LANE_NO_MISS, "a file that is not there")
            return
        place = self.lane.root / self._fresh_name
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        descriptor = os.open(place, flags, self.lane.config.file_mode)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor has no path
            file.write(CONTENT)
        end = time.monotonic() + FRESH_SECONDS
        while self._ask("GET", self._fresh_name).body != CONTENT:
            if time.monotonic() > end:
                yield self._found(LANE_STALE)
                return
            time.sleep(_PAUSE)

    def _misses(self, folder: str) -> Iterator[Finding]:
        reply = self._ask("PROPFIND", f"{folder}__conduck_absent_{self.tag * 2}")
        if reply.status != 404:
            yield self._found(LANE_NO_MISS, f"status {reply.status}")
        elif reply.seconds > APP_SECONDS:
            yield self._found(LANE_SLOW, f"{reply.seconds:.0f} s")

    def _listing(self) -> Iterator[Finding]:
        reply = self._ask("PROPFIND", self._folder, depth="1")
        is_shown = f"{self._folder}/{self.tag}.txt".encode() in reply.body
        if reply.status != 207 or not is_shown:
            yield self._found(LANE_LISTING, f"status {reply.status}")

    def _removal(self) -> Iterator[Finding]:
        self._remove()
        if any((self.lane.root / path).exists() for path in self._names):
            yield self._found(LANE_LEFT_BEHIND)

    @property
    def _names(self) -> tuple[str, ...]:
        return (self._file, self._fresh_name, f"{self._folder}/")

    def _remove(self) -> None:
        for path in self._names:
            self._ask("DELETE", path)

    def _ask(
        self, method: str, path: str, body: bytes | None = None, depth: str = "0"
    ) -> Reply:
        headers = {"Depth": depth} if method == "PROPFIND" else {}
        return self.peer.ask(method, f"/{path}", body, headers=headers, seconds=15)

    def _found(self, what: Declared, detail: str = "") -> Finding:
        return what.found(self.lane.subject, detail)

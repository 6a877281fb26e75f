"""The lane's part of the page on speed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.bench.lane.rows import LaneRow
from tests.bench.round import FOLDER

LANE = FOLDER / "lane"

HEAD = """## The file lane

Written from the newest file in `bench/lane/`. Three servers, each over its own copy of
the same folder on the same disk, were asked by turns: ours (`open-conduit serve`),
`rclone serve webdav --dir-cache-time 1s`, and WsgiDAV as it comes, with its own
command, Basic authentication and its provider for folders. One raw client asked all of
them, in processes of its own, and kept its connections where the server keeps them. A
figure is the median of the rounds unless it says something else. Processor time is the
server's, user and system, from the kernel's clock of the process.

Before each turn that writes, `sync` brings the disk to rest, so that what one server
left to be written is not billed to the next. While a large upload is sent its client
lets go of as many cached pages: memory that a virtual machine handed back to its host
is slow to get again, which would hide what the servers do. Our uploads are on the disk
(`fsync`) before they are answered; those of the other two are not.
"""

LIMITS = """
"More" holds figures of ours / rclone / stock WsgiDAV.

What limits each: listings, the text that is made for each entry in Python, since
`scandir` and one `stat` an entry cost less than that; depth 0, reading the head and
writing the log line, since the look itself is a few system calls; downloads, the
kernel's copy and the client, since `sendfile` never brings the bytes to Python; large
uploads, the disk, which has everything before the answer; many small requests at once,
the interpreter: its threads run one at a time, and on this machine handing over from
one to the next costs more than the work of a request (counted: a hundred `futex` calls
for one small upload over eight connections). rclone hashes what it stores and
looks at folders again only after a second. What limits memory: the interpreter and its
modules; a transfer takes a pipe or one buffer, whatever its size.
"""

_COLUMNS = "what|ours|rclone|stock|times rclone|times stock|promised|kept|more"


def rounds() -> list[Path]:
    """Return the files of all rounds of the lane, oldest first."""
    return sorted(LANE.glob("*.json"))


def read(path: Path) -> tuple[dict[str, Any], list[LaneRow]]:
    """Return a round and its rows."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return content, [LaneRow(**row) for row in content["rows"]]


def section() -> str:
    """Return the lane's part of the page; empty while there is no round."""
    if not rounds():
        return ""
    content, rows = read(rounds()[-1])
    machine = content["machine"]
    versions = ", ".join(f"{name} {text}" for name, text in content["versions"].items())
    columns = _COLUMNS.split("|")
    lines = [
        HEAD,
        f"Taken {content['taken_at']} on {machine['system']}, {machine['processor']}, "
        f"{machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['file_system']}, Python {machine['python']}; {versions}. The "
        f"load before was {machine['load']}, where 0 is a quiet machine.",
        "",
        f"| {' | '.join(columns)} |",
        f"| {' | '.join('---' for _ in columns)} |",
        *(line(row) for row in rows),
        LIMITS,
    ]
    return "\n".join(lines)


def line(row: LaneRow) -> str:
    """Return one row of the table."""
    kept = "yes" if row.is_met else "**missed**"
    if not row.is_measured:
        kept = "not measured"
    notes = "; ".join(f"{name} {value}" for name, value in row.notes.items())
    cells = (
        row.what,
        f"{row.ours:g} {row.unit}",
        _figure(row.rclone, "not measured"),
        _figure(row.stock, ""),
        _times(row.better_than(row.rclone)),
        _times(row.better_than(row.stock)),
        row.promise,
        kept if row.promise else "",
        notes,
    )
    return f"| {' | '.join(cells)} |"


def _figure(value: float | None, missing: str) -> str:
    return missing if value is None else f"{value:g}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"

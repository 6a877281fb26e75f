"""A tarball whose bytes depend on nothing but the files in it."""

from __future__ import annotations

import tarfile
from pathlib import Path


def pack(folder: Path, file: Path, epoch: int) -> None:
    """Pack a folder.

    Args:
        folder: What is packed; its name is the one folder in the tarball.
        file: The tarball.
        epoch: The time that every file gets, in seconds since 1970.
    """

    def settled(item: tarfile.TarInfo) -> tarfile.TarInfo:
        item.uid = item.gid = 0
        item.uname = item.gname = ""
        item.mtime = epoch
        item.mode = 0o755 if item.isdir() else 0o644
        return item

    with tarfile.open(file, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for path in [folder, *sorted(folder.rglob("*"))]:
            name = path.relative_to(folder.parent)
            archive.add(path, str(name), recursive=False, filter=settled)

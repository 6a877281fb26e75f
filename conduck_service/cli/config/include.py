"""``open-conduit config include``: folders that keep scopes of their own."""

from __future__ import annotations

import os
from pathlib import Path

import click

from conduck_service.base.jsonio import JsonValue
from conduck_service.cli.config.editing import change
from conduck_service.cli.loading import starting_folder
from conduck_service.cli.options import config_option, data_dir_option, places
from conduck_service.cli.output import refuse
from conduck_service.config.pointer import PointerError


@click.group("include")
def command() -> None:
    """Add and remove folders that keep scopes in .open-conduit/config.json."""


@command.command("add")
@click.argument("folder", type=click.Path(readable=False))
@click.option(
    "--parent",
    required=True,
    metavar="SCOPE",
    help="Id of the scope of the config file that the folder's scopes are in.",
)
@config_option
@data_dir_option
def add(folder: str, parent: str, config: str | None, data_dir: str | None) -> None:
    """Include FOLDER in the config file (B-CLI-08).

    The folder has to be there; a file of scopes in it can follow.
    """
    where = places(config, data_dir)
    wanted = _absolute(starting_folder(), folder)
    if not wanted.is_dir():
        refuse(
            f"{click.format_filename(wanted)}: there is no such folder; correct the "
            "path, or make the folder first"
        )

    def alter(document: JsonValue) -> None:
        includes = _includes(document)
        if _find(includes, where.config.parent, wanted) is not None:
            raise PointerError(
                "includes", "the folder is included already", "remove it first"
            )
        # A path that is relative here would be looked for beside the config.
        includes.append({"path": str(wanted), "parent": parent})
        document["includes"] = includes

    change(where, alter)


@command.command("remove")
@click.argument("folder", type=click.Path(readable=False))
@config_option
@data_dir_option
def remove(folder: str, config: str | None, data_dir: str | None) -> None:
    """Take FOLDER out of the config file; the folder itself stays."""
    where = places(config, data_dir)
    wanted = _absolute(starting_folder(), folder)

    def alter(document: JsonValue) -> None:
        includes = _includes(document)
        found = _find(includes, where.config.parent, wanted, folder)
        if found is None:
            raise PointerError(
                "includes",
                "the folder is not included",
                "config get includes prints those that are",
            )
        del includes[found]
        if not includes:
            del document["includes"]

    change(where, alter)


def _absolute(start: Path, folder: str) -> Path:
    return Path(os.path.normpath(start / folder))


def _includes(document: JsonValue) -> list[JsonValue]:
    found = document.get("includes", []) if isinstance(document, dict) else None
    if not isinstance(found, list):
        raise PointerError("includes", "it is no list", "correct the file first")
    return found


def _find(
    includes: list[JsonValue], base: Path, wanted: Path, written: str | None = None
) -> int | None:
    """Return the index of the entry of a folder, or None."""
    for number, entry in enumerate(includes):
        path = entry.get("path") if isinstance(entry, dict) else None
        if isinstance(path, str) and (
            path == written or _absolute(base, path) == wanted
        ):
            return number
    return None

"""The home of one turn: private, new, and removed with the turn's scratch folder.

Engines leave transcripts, pictures and caches in their home, and read what earlier
turns left there; so every turn has one of its own, which links to the few parts of
the person's that the engine cannot do without (C-SNAP-15).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conduck_service.base.jsonio import JsonValue
from conduck_service.base.safefiles import SafeFileError, atomic_write
from conduck_service.domain.standing import STANDING_INSTRUCTIONS
from conduck_service.executors.beneath import open_folder, read_file
from conduck_service.executors.preset.frame import HomeFile, HomePart, Preset
from conduck_service.executors.preset.settings import PresetConfig

MOST_BYTES = 1_048_576
"""Of a file that the operator puts into the home, and of a renewed login."""

_STANDING = "{standing}"
_SIDE_FILE = "export.json"
_PLACE = re.compile(r"\{(home|standing|side|model|steps|withheld)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnHome:
    """The home of a turn.

    Attributes:
        path: It; ``tmp`` in it is the turn's temporary folder.
        standing: File with the standing instructions.
        side: Where the engine may report something beside its output.
        links: Where the home links to the person's own: link and target.
    """

    path: Path
    standing: Path
    side: Path
    links: Mapping[Path, Path]

    @property
    def temporary(self) -> Path:
        """The folder for temporary files."""
        return self.path / "tmp"

    def filled(self, text: str, config: PresetConfig) -> str:
        """Return the text with values in place of placeholders."""
        values = {
            "home": str(self.path),
            "standing": str(self.standing),
            "side": str(self.side),
            "model": config.command.model or "",
            "steps": str(config.max_steps),
            "withheld": "".join(f',"{name}"' for name in config.command.secret_env),
        }
        return _PLACE.sub(lambda place: values[place[1]], text)

    def side_report(self) -> JsonValue:
        """Return the JSON that the engine left beside its output, or None."""
        name = self.side.name
        for *steps, file in ((name,), (name, _SIDE_FILE)):
            try:
                return json.loads(self._left_by_engine(steps, file))
            except (OSError, ValueError, RecursionError):
                continue
        return None

    def give_back(self) -> None:
        """Put a login that the engine renewed to where the person has it.

        Most engines write through the link; one that replaces it by a new file
        would lose the renewed token with the home, and so the login.
        """
        for link, target in self.links.items():
            if link.is_symlink() or target.is_dir():
                continue
            *steps, name = link.relative_to(self.path).parts
            try:
                if login := self._left_by_engine(steps, name):
                    kept = Path(os.path.realpath(target))
                    atomic_write(kept, login, kept.stat().st_mode & 0o777)
            except (OSError, ValueError, SafeFileError):
                continue  # the person has to log in again, as without us

    def _left_by_engine(self, steps: Sequence[str], name: str) -> bytes:
        with open_folder(self.path, steps) as folder:
            return _bounded(read_file(folder, name, MOST_BYTES + 1))


def parts_of(preset: Preset, person: Path | None) -> Iterator[tuple[HomePart, Path]]:
    """Yield the parts of the person's home that are there, with their paths.

    Raises:
        OSError: A part that is to be made cannot be.
    """
    for part in (*preset.logins, *preset.home_parts) if person else ():
        assert person is not None
        path = person / part.path
        if part.make:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists():
            yield part, path


def make_home(
    preset: Preset, config: PresetConfig, folder: Path, person: Path | None
) -> TurnHome:
    """Make the home of a turn in the turn's private folder.

    Args:
        preset: Says what has to be in it.
        config: Of the binding.
        folder: The turn's private folder.
        person: The home that logins come from.

    Raises:
        OSError: It cannot be made.
        ValueError: A file of the operator is not what the preset needs there.
    """
    path = folder  # each folder that has to be removed costs milliseconds
    (path / "tmp").mkdir(mode=0o700, exist_ok=True)
    for part in (*preset.logins, *preset.home_parts):
        # An engine may want its own folder to be there, login or not.
        (path / part.path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    links = {}
    for part, target in parts_of(preset, person):
        link = path / part.path
        link.symlink_to(target)
        links[link] = target
    home = TurnHome(
        path=path,
        standing=folder / "instructions.md",
        side=folder / "report",
        links=links,
    )
    policy = preset.policies[config.policy]
    files = {**preset.files, **policy.files}
    words = (*preset.arguments, *policy.arguments, *preset.environment.values())
    if any(_STANDING in word for word in (*words, *map(str, files.values()))):
        home.standing.write_text(STANDING_INSTRUCTIONS, encoding="utf-8")
    for place in {**config.home_files, **files}:
        given: HomeFile | None = files.get(place)
        given = _filled(given, lambda text: home.filled(text, config))
        text = _text(given, config.home_files.get(place))
        target = path / place
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(target, flags, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
            file.write(text)
    return home


def _filled(value: JsonValue, fill: Callable[[str], str]) -> JsonValue:
    """Return a JSON value with every text in it filled; steps alone are a number."""
    if value == "{steps}":
        return int(fill("{steps}"))
    if isinstance(value, str):
        return fill(value)
    if isinstance(value, Mapping):
        return {key: _filled(item, fill) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(item, fill) for item in value]
    return value


def _text(given: HomeFile | None, own: Path | None) -> str:
    """Return the text of a file: the preset's, the operator's, or both as JSON."""
    if isinstance(given, str):
        return given
    if given is None:
        assert own is not None
        return _content(own)
    below = json.loads(_content(own)) if own else {}
    if not isinstance(below, dict):
        raise ValueError("the operator's file is no JSON object")  # noqa: TRY004
    return json.dumps(_laid_over(below, given))


def _laid_over(
    below: Mapping[str, JsonValue], above: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    merged = dict(below)
    for key, value in above.items():
        inner = merged.get(key)
        if isinstance(inner, Mapping) and isinstance(value, Mapping):
            value = _laid_over(inner, value)  # noqa: PLW2901
        merged[key] = value
    return merged


def _content(path: Path) -> str:
    """Return the text of a file of the operator, which may lie behind links.

    Raises:
        ValueError: It is not there, not readable, too large or no text.
    """
    real = Path(os.path.realpath(path))
    try:
        with open_folder(real.parent, ()) as folder:
            data = read_file(folder, real.name, MOST_BYTES + 1)
    except OSError as error:
        raise ValueError("the file cannot be read") from error
    return _bounded(data).decode("utf-8")


def _bounded(data: bytes) -> bytes:
    if len(data) > MOST_BYTES:
        raise ValueError("the file is too large")
    return data

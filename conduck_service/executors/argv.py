"""The argv of one turn: configured words with values in place of placeholders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conduck_service.executors.command_settings import (
    ANSWER_FILE,
    IMAGE_DIR,
    MODEL,
    CommandConfig,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholders:
    """Values for the placeholders of argv; None when the turn has none."""

    model: str | None
    image_dir: Path | None
    answer_file: Path | None

    def as_words(self) -> dict[str, str | None]:
        """Return the value of each placeholder."""
        return {
            MODEL: self.model,
            IMAGE_DIR: str(self.image_dir) if self.image_dir else None,
            ANSWER_FILE: str(self.answer_file) if self.answer_file else None,
        }


def build_argv(
    config: CommandConfig,
    placeholders: Placeholders,
    images: Sequence[Path],
    *,
    is_transfer: bool,
) -> tuple[str, ...]:
    """Return the argv of one turn, without the prompt.

    Only values of the config and paths that the service made get in; nothing a
    person wrote does (C-SEC-02).
    """
    argv = _filled(config.argv, placeholders.as_words())
    if is_transfer:
        argv += config.transfer_argv
    if images and config.images.dir_argument:
        argv += [config.images.dir_argument, str(placeholders.image_dir)]  # C-IMG-39
    if config.images.flag:
        for path in images:  # C-IMG-29
            argv += [config.images.flag, str(path)]
    return tuple(argv)


def _filled(words: Sequence[str], values: Mapping[str, str | None]) -> list[str]:
    """Replace placeholders; one without a value goes, and its option with it.

    So a binding that configures no model passes no model argument at all
    (C-SELECT-08).
    """
    argv: list[str] = []
    for word in words:
        if word not in values:
            argv.append(word)
            continue
        value = values[word]
        if value is not None:
            argv.append(value)
        elif len(argv) > 1 and argv[-1].startswith("-"):
            argv.pop()
    return argv

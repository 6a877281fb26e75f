"""The argv of a turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conduck_service.executors.argv import Placeholders, build_argv
from conduck_service.executors.command_settings import CommandConfig, Images

ONE, TWO = Path("/s/one.png"), Path("/s/two.png")
FLAG = Images(mode="argument", flag="-i")
FLAG_AND_FOLDER = Images(mode="argument", flag="-i", dir_argument="--add-dir")
FOLDER = Images(mode="file", dir_argument="--add-dir")


def argv_of(
    *argv: str,
    paths: tuple[Path, ...] = (),
    is_transfer: bool = False,
    model: str | None = None,
    answer_file: Path | None = None,
    **config: Any,
) -> list[str]:
    settings = CommandConfig(argv=argv, model=model, **config)
    placeholders = Placeholders(
        model=model, image_dir=Path("/s") if paths else None, answer_file=answer_file
    )
    return list(build_argv(settings, placeholders, paths, is_transfer=is_transfer))


@pytest.mark.parametrize(
    ("argv", "filled", "dropped"),
    [
        (["p", "--model", "{model}"], ["p", "--model", "m"], ["p"]),
        (["p", "-m", "{model}", "x"], ["p", "-m", "m", "x"], ["p", "x"]),
        (["p", "{model}"], ["p", "m"], ["p"]),
        (["p", "use", "{model}"], ["p", "use", "m"], ["p", "use"]),
        (["-p", "{model}"], ["-p", "m"], ["-p"]),
        (["p", "-a", "-m", "{model}"], ["p", "-a", "-m", "m"], ["p", "-a"]),
    ],
)
def test_a_placeholder_without_a_value_goes_with_its_option(
    argv: list[str], filled: list[str], dropped: list[str]
) -> None:
    assert argv_of(*argv, model="m") == filled
    assert argv_of(*argv) == dropped


def test_only_whole_words_are_placeholders() -> None:
    argv = ["p", "{model}{model}", "a{model}", "{other}", "{}", "", "$HOME", "a b;c"]
    assert argv_of(*argv, model="m") == argv


def test_a_value_is_not_searched_for_placeholders() -> None:
    assert argv_of("p", "{model}", model="{image_dir}") == ["p", "{image_dir}"]


def test_the_folder_and_the_answer_file_have_placeholders() -> None:
    argv = ("p", "-d", "{image_dir}", "-o", "{answer_file}")
    answer = Path("/s/answer")
    filled = argv_of(*argv, paths=(ONE,), answer_file=answer)
    assert filled == ["p", "-d", "/s", "-o", "/s/answer"]
    assert argv_of(*argv, answer_file=answer) == ["p", "-o", "/s/answer"]


@pytest.mark.parametrize(
    ("images", "wanted"),
    [
        (FLAG, ["-i", "/s/one.png", "-i", "/s/two.png"]),
        (FLAG_AND_FOLDER, ["--add-dir", "/s", "-i", "/s/one.png", "-i", "/s/two.png"]),
        (FOLDER, ["--add-dir", "/s"]),
        (Images(mode="file"), []),
    ],
)
def test_images_come_last(images: Images, wanted: list[str]) -> None:
    assert argv_of("p", "-", paths=(ONE, TWO), images=images) == ["p", "-", *wanted]
    assert argv_of("p", "-", images=images) == ["p", "-"]


def test_turns_that_name_a_folder_get_their_own_arguments() -> None:
    transfer = ("--allow", "write")
    plain = argv_of("p", "-", transfer_argv=transfer)
    assert plain == ["p", "-"]
    told = argv_of(
        "p", "-", transfer_argv=transfer, is_transfer=True, paths=(ONE,), images=FLAG
    )
    assert told == ["p", "-", "--allow", "write", "-i", "/s/one.png"]

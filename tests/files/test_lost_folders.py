"""Uploads whose folder goes away while they are under way are stored nowhere."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.files.test_copy_move import put, tree
from tests.files.test_racing_writers import end
from tests.support.lane_faults import Box, uploading
from tests.support.lane_races import reserved_in, together
from tests.support.raw_http import chunked

FOLDER = "above/folder"
BODY = b"0123456789"
ROUNDS = 30

Loss = Callable[[Box, Path], object]


def moved(box: Box, outside: Path) -> None:
    assert put(box, "MOVE", FOLDER, "moved").status == 201


def moved_over_another(box: Box, outside: Path) -> None:
    (box.disk / "moved").mkdir()
    assert put(box, "MOVE", FOLDER, "moved").status == 204


def moved_with_the_folder_above(box: Box, outside: Path) -> None:
    assert put(box, "MOVE", "above", "moved").status == 201


def replaced_by_a_move(box: Box, outside: Path) -> None:
    (box.disk / "other").mkdir()
    assert put(box, "MOVE", "other", FOLDER).status == 204


def replaced_by_a_copy(box: Box, outside: Path) -> None:
    (box.disk / "other").mkdir()
    assert put(box, "COPY", "other", FOLDER).status == 204


def deleted(box: Box, outside: Path) -> None:
    assert box.lane.delete(box.at(FOLDER)).status == 204


def deleted_and_made_again(box: Box, outside: Path) -> None:
    deleted(box, outside)
    assert box.lane.mkcol(box.at(FOLDER)).status == 201


def renamed(box: Box, outside: Path) -> None:
    (box.disk / FOLDER).rename(box.disk / "renamed")


def renamed_and_made_again(box: Box, outside: Path) -> None:
    renamed(box, outside)
    (box.disk / FOLDER).mkdir()


def renamed_and_linked(box: Box, outside: Path) -> None:
    renamed(box, outside)
    (box.disk / FOLDER).symlink_to(box.disk / "renamed")


def taken_out(box: Box, outside: Path) -> None:
    (box.disk / FOLDER).rename(outside / "folder")


def taken_out_with_the_folder_above(box: Box, outside: Path) -> None:
    (box.disk / "above").rename(outside / "above")


def taken_out_and_linked(box: Box, outside: Path) -> None:
    taken_out(box, outside)
    (box.disk / FOLDER).symlink_to(outside / "folder")


def removed(box: Box, outside: Path) -> None:
    shutil.rmtree(box.disk / "above")


LOSSES: list[Loss] = [
    moved,
    moved_over_another,
    moved_with_the_folder_above,
    replaced_by_a_move,
    replaced_by_a_copy,
    deleted,
    deleted_and_made_again,
    renamed,
    renamed_and_made_again,
    renamed_and_linked,
    taken_out,
    taken_out_with_the_folder_above,
    taken_out_and_linked,
    removed,
]


@pytest.fixture
def filled(box: Box) -> Box:
    (box.disk / FOLDER).mkdir(parents=True)
    box.write(f"{FOLDER}/there")
    return box


@pytest.mark.req("F-ROOT-06", "F-ROOT-08", "F-IN-08", "F-METH-10")
@pytest.mark.parametrize("name", ["new", "there"])
@pytest.mark.parametrize("lose", LOSSES)
def test_an_upload_into_a_folder_that_went_away_is_409(
    filled: Box, tmp_path: Path, lose: Loss, name: str
) -> None:
    box, path = filled, filled.at(f"{FOLDER}/{name}")
    with uploading(box.lane, path, len(BODY)) as upload:
        upload.send(BODY[:5])
        lose(box, tmp_path)
        before = tree(box.disk), tree(tmp_path)
        upload.send(BODY[5:])
        assert upload.finish().status == 409
    assert (tree(box.disk), tree(tmp_path)) == before
    assert reserved_in(box.disk) == reserved_in(tmp_path) == []
    texts = [*tree(box.disk).values(), *tree(tmp_path).values()]
    assert BODY.decode() not in texts


@pytest.mark.req("F-ROOT-08")
@pytest.mark.parametrize("lose", [moved, renamed, taken_out])
def test_so_is_one_of_unknown_length(filled: Box, tmp_path: Path, lose: Loss) -> None:
    box, data = filled, chunked(BODY[:5], BODY[5:])
    with uploading(box.lane, filled.at(f"{FOLDER}/new")) as upload:
        upload.send(data[:4])
        lose(box, tmp_path)
        before = tree(box.disk), tree(tmp_path)
        upload.send(data[4:])
        assert upload.finish().status == 409
    assert (tree(box.disk), tree(tmp_path)) == before


def test_a_folder_that_came_back_has_not_gone_away(filled: Box) -> None:
    box = filled
    with uploading(box.lane, box.at(f"{FOLDER}/new"), len(BODY)) as upload:
        upload.send(BODY[:5])
        renamed(box, box.disk)
        (box.disk / "renamed").rename(box.disk / FOLDER)
        upload.send(BODY[5:])
        assert upload.finish().status == 201
    assert (box.disk / FOLDER / "new").read_bytes() == BODY


def test_what_goes_on_beside_an_upload_does_not_end_it(filled: Box) -> None:
    box = filled
    with uploading(box.lane, box.at(f"{FOLDER}/new"), len(BODY)) as upload:
        upload.send(BODY[:5])
        assert put(box, "MOVE", f"{FOLDER}/there", "there").status == 201
        assert box.lane.mkcol(box.at(f"{FOLDER}/sub")).status == 201
        assert box.lane.delete(box.at("there")).status == 204
        upload.send(BODY[5:])
        assert upload.finish().status == 201
    assert tree(box.disk / FOLDER) == {"new": BODY.decode(), "sub": None}


def check_met(box: Box, number: int, moved: int, stored: int) -> None:
    """Look whether a folder is moved, and holds what was answered 201."""
    assert moved == 201
    assert stored in (201, 409)
    found = tree(box.disk / f"to-{number}")
    assert found == ({"new": BODY.decode()} if stored == 201 else {})
    assert not (box.disk / f"from-{number}").exists()


def test_the_end_of_an_upload_meets_a_move(box: Box) -> None:
    """It is stored once or not, and never where the folder was."""
    for number in range(ROUNDS):
        (box.disk / f"from-{number}").mkdir()
        move = partial(put, box, "MOVE", f"from-{number}", f"to-{number}")
        path = box.at(f"from-{number}/new")
        with uploading(box.lane, path, len(BODY)) as upload:
            upload.send(BODY[:5])
            answer, stored = together(move, partial(end, upload, BODY[5:]))
        check_met(box, number, answer.status, stored)


def test_a_short_upload_meets_a_move(box: Box) -> None:
    for number in range(ROUNDS):
        (box.disk / f"from-{number}").mkdir()
        move = partial(put, box, "MOVE", f"from-{number}", f"to-{number}")
        store = partial(box.lane.put, box.at(f"from-{number}/new"), BODY)
        moved, stored = (answer.status for answer in together(move, store))
        check_met(box, number, moved, stored)

"""Kinds and Specs by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conduck_service.base.diagnostics import Pointer
from conduck_service.base.jsonio import JsonValue
from conduck_service.extension.kinds import (
    FilePath,
    Integer,
    ListOf,
    MapOf,
    Name,
    Object,
    Regex,
    Scalar,
    Seconds,
    Text,
    Umask,
)
from conduck_service.extension.spec import INVALID, Decoding, Field, Kind, Spec


def decode(kind: Kind, value: Any) -> Any:
    return kind.decode(value, (), Decoding(base=Path("/base")))


def problems(kind: Kind, value: Any) -> list[tuple[str, str]]:
    into = Decoding(base=Path("/base"))
    assert kind.decode(value, (), into) is INVALID
    return [(item.place, item.code) for item in into.problems]


def test_a_pattern_that_python_warns_of_is_good_and_nothing_is_said(
    recwarn: pytest.WarningsRecorder,
) -> None:
    assert decode(Regex(), "[[a]").fullmatch("[")
    assert list(recwarn) == []
    assert problems(Regex(), "[a") == [("", "invalid_config")]


def test_a_whole_number_may_be_written_with_a_fraction_of_zero() -> None:
    found = decode(Integer(1, 65535), 8480.0)
    assert found == 8480
    assert isinstance(found, int)
    for wrong in (8480.5, True, "8480", float("inf"), 1e300):
        assert decode(Integer(1, 65535), wrong) is INVALID


@pytest.mark.parametrize("value", [10**400, float("inf"), True, "1"])
def test_seconds_are_numbers_that_a_float_can_hold(value: Any) -> None:
    assert decode(Seconds(), value) is INVALID
    assert decode(Scalar(), value) is (value if value in (True, "1") else INVALID)


@pytest.mark.parametrize("value", ["", "\0", "a\0", "\ud800", "a\udfffb"])
def test_text_that_no_program_can_be_given_is_refused(value: str) -> None:
    assert decode(Text(), value) is INVALID
    assert decode(FilePath(), value) is INVALID


@pytest.mark.parametrize("value", ["a\n", "\n", "a "])
def test_a_pattern_has_to_match_all_of_a_text(value: str) -> None:
    assert decode(Text("[a-z]+", "small letters"), value) is INVALID
    assert decode(Name(), value) is INVALID
    assert decode(MapOf(Text()), {value: "a"}) is INVALID


@pytest.mark.req("B-DIAG-12")
def test_every_repeated_item_of_a_long_list_is_named() -> None:
    names = [f"n{index}" for index in range(10_000)]
    assert decode(ListOf(Name(), unique=True), names) == tuple(names)
    twice = [*names, "n1", "n2", "n1"]
    assert problems(ListOf(Name(), unique=True), twice) == [
        ("10000", "duplicate_name"),
        ("10001", "duplicate_name"),
        ("10002", "duplicate_name"),
    ]


def test_items_are_the_same_when_they_are_for_json() -> None:
    numbers = ListOf(Scalar(), unique=True)
    assert decode(numbers, [1, True, "1"]) == (1, True, "1")
    assert problems(numbers, [1, 1.0]) == [("1", "duplicate_name")]
    objects = ListOf(MapOf(Name()), unique=True)
    assert problems(objects, [{"a": "x", "b": "y"}, {"b": "y", "a": "x"}]) == [
        ("1", "duplicate_name")
    ]


@pytest.mark.req("B-DIAG-12")
def test_every_fault_of_an_object_is_named_at_once() -> None:
    spec: Spec[Any] = Spec(
        dict,
        (
            Field(name="name", kind=Name(), doc="Name."),
            Field(name="port", kind=Integer(1), doc="Port."),
            Field(name="count", kind=Integer(1), default=1, doc="Count."),
        ),
    )
    value = {"zzz": 1, "count": None, "port": "a"}
    assert sorted(problems(Object(spec), value)) == [
        ("count", "null_value"),
        ("name", "missing_field"),
        ("port", "invalid_type"),
        ("zzz", "unknown_field"),
    ]


@dataclass(frozen=True, slots=True)
class Plain(Kind):
    """A kind of a package that says as little as it can."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        return value

    def schema(self) -> dict[str, JsonValue]:
        return {}


INNER: Spec[Any] = Spec(
    dict, (Field(name="deep", kind=Seconds(), default=5.0, doc="Deep."),)
)
SPEC: Spec[Any] = Spec(
    dict,
    (
        Field(name="umask", kind=Umask(), default=0o007, doc="Umask."),
        Field(name="wait", kind=Seconds(), default=285.0, doc="Wait."),
        Field(name="path", kind=FilePath(), default=Path("/a"), doc="Path."),
        Field(name="inner", kind=Object(INNER), default={}, doc="Inner."),
        Field(name="plain", kind=Plain(), default="as it is", doc="Plain."),
        Field(name="list", kind=ListOf(Umask()), default=(0o22,), doc="List."),
        Field(name="map", kind=MapOf(Seconds()), default={"a": 1.0}, doc="Map."),
        Field(name="regex", kind=Regex(), default=None, doc="Regex."),
        Field(name="text", kind=Text(), default="", doc="No text."),
        Field(
            name="some",
            kind=ListOf(Name(), non_empty=True),
            default=(),
            doc="No names.",
        ),
        Field(name="none", kind=Object(INNER), default=None, doc="None."),
    ),
)
DEFAULTS = {
    "umask": "0007",
    "wait": 285,
    "path": "/a",
    "inner": {"deep": 5},
    "plain": "as it is",
    "list": ["0022"],
    "map": {"a": 1},
}


def test_a_default_is_written_down_where_somebody_could_write_it() -> None:
    assert SPEC.defaults == DEFAULTS
    assert SPEC.normal({}) == DEFAULTS
    assert [*SPEC.normal({"text": "a"})] == [*DEFAULTS, "text"]
    properties = SPEC.schema()["properties"]
    assert {
        key: value["default"] for key, value in properties.items() if "default" in value
    } == DEFAULTS


def test_rules_are_in_the_words_of_the_schema() -> None:
    inner: Spec[Any] = Spec(dict, (), rules=("One needs the other.",))
    spec: Spec[Any] = Spec(
        dict, (Field(name="inner", kind=Object(inner), default={}, doc="Inner."),)
    )
    assert inner.schema()["description"] == "One needs the other."
    words = spec.schema()["properties"]["inner"]["description"]
    assert words == "Inner. One needs the other."

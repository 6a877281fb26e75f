"""Config of a binding of a preset: what every engine has in common."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from conduck_service.base.diagnostics import Pointer
from conduck_service.base.jsonio import JsonValue
from conduck_service.executors.command_settings import (
    COMMAND_SPEC,
    Argument,
    CommandConfig,
)
from conduck_service.executors.preset.frame import (
    ESCALATING,
    SHORTENED,
    Channel,
    Preset,
)
from conduck_service.extension.kinds import (
    Boolean,
    Choice,
    FilePath,
    Integer,
    ListOf,
    MapOf,
    Text,
)
from conduck_service.extension.spec import INVALID, Decoding, Field, Kind, Schema, Spec

_SHARED = (
    "cwd",
    "strip",
    "serialize",
    "env",
    "secret_env",
    "max_request_bytes",
    "max_output_bytes",
    "umask",
    "kill_grace_seconds",
    "confine",
    "confine_read",
    "confine_write",
)
"""Keys that mean what they mean to the ``command`` executor."""

HOME_VARIABLES = ("HOME", "TMPDIR", "TMP", "TEMP")
"""Variables that point to the turn's own home, whatever the config says."""

NO_REPOSITORY = "GIT_DIR"
"""Names a repository that is not there, so that git obeys none.

Engines ask git about the folder they start in, and the settings of a repository there
may name commands, which would run with the engine's rights and not with its policy's.
"""

# Steps of a path, none of which is "." or "..".
_STEP = r"(?:[^/.\x00]|\.[^/.\x00]|\.\.[^/\x00])[^/\x00]*"
_RELATIVE = f"{_STEP}(?:/{_STEP})*"


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetConfig:
    """Decoded config of a preset's binding.

    Attributes:
        command: What the ``command`` executor needs to run the program.
        policy: Name of the approval policy.
        arguments: Extra ones.
        home_files: The operator's files by their places in the turn's home.
        images: Whether photos reach the engine.
        max_steps: Limit of the tool steps of a turn.
    """

    command: CommandConfig
    policy: str
    arguments: tuple[str, ...] = ()
    home_files: Mapping[str, Path] = field(default_factory=dict)
    images: bool = False
    max_steps: int = 50

    @property
    def cwd(self) -> Path | None:
        """The working folder, when the config names one."""
        return self.command.cwd

    @property
    def program(self) -> str:
        """The engine's program: a path, or a name to be looked for."""
        return self.command.argv[0]


@dataclass(frozen=True, slots=True)
class Program(Kind):
    """A program: a path, or a name that is looked for in the engine's PATH."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the name or the absolute path, or INVALID after noting why not."""
        word = Text().decode(value, at, into)
        if word is INVALID or "/" not in word:
            return word
        return str(into.base / word)

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return Text().schema()


@dataclass(frozen=True, slots=True)
class ExtraArgument(Kind):
    """One more argument; none that would widen what the engine may do (C-SEC-08).

    The program refuses more than the schema does: patterns of words are no pattern
    of JSON Schema.
    """

    refused: tuple[str, ...]

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the argument, or INVALID after noting why not."""
        word = Argument().decode(value, at, into)
        if word is INVALID or not is_refused(word, self.refused):
            return word
        return into.refuse(
            at,
            "invalid_config",
            "the argument belongs to the preset, or would let the engine do more "
            "than its policy says",
            "leave it out, and choose a policy; write options in full, with two "
            "dashes; an engine that is to run without a policy is a command binding",
        )

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return Argument().schema()


def is_refused(word: str, patterns: tuple[str, ...]) -> bool:
    """Say whether an extra argument matches one of the patterns, in any spelling.

    Option parsers know an option by several: in camel case, with ``_``, with its
    value behind ``=``; a setting may be such a value.
    """
    name, _, value = word.partition("=")
    return any(
        fnmatch.fnmatchcase(form, pattern)
        for form in {_plain(word), _plain(name), _plain(value)}
        for pattern in patterns
        if form
    )


def _plain(word: str) -> str:
    word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", word)
    return word.replace("_", "-").lower()


def preset_spec(preset: Preset) -> Spec[PresetConfig]:
    """Return the keys of the preset's bindings."""
    fields = (*_of_the_engine(preset), *_where_there_is_one(preset), *_shared(preset))
    return Spec(partial(_make, preset), fields, rules=(_ENV_RULE, _HOME_RULE))


def _of_the_engine(preset: Preset) -> Iterator[Field]:
    """Yield the keys that every preset has."""
    yield Field(
        name="program",
        kind=Program(),
        default=preset.program,
        doc="The engine's program: a path, or a name on PATH.",
    )
    yield Field(
        name="model",
        kind=Text(),
        default=None,
        doc="The engine's own name of its model; its default when left out.",
        shown=True,
    )
    yield Field(
        name="policy",
        kind=Choice(tuple(preset.policies)),
        default=preset.default_policy,
        doc="What the engine may do without asking; it is never asked.",
        shown=True,
    )
    yield Field(
        name="arguments",
        kind=ListOf(ExtraArgument((*ESCALATING, *SHORTENED, *preset.refused))),
        default=(),
        doc="More arguments of the engine, options in full; none that widens its "
        "policy.",
    )
    yield Field(
        name="home_files",
        kind=MapOf(FilePath(), key_pattern=_RELATIVE, key_words="a relative path"),
        default={},
        doc="Your files that the engine finds in the home of each turn, by their "
        "places there.",
    )


def _where_there_is_one(preset: Preset) -> Iterator[Field]:
    """Yield keys for what not every engine has: a way of photos, a limit of steps."""
    if preset.photos.channel is not Channel.NONE:
        yield Field(
            name="images",
            kind=Boolean(),
            default=True,
            doc="Whether photos reach the engine; say false for a model without eyes.",
            shown=True,
        )
    if preset.counts_steps:
        yield Field(
            name="max_steps",
            kind=Integer(1, 1000),
            default=preset.most_steps,
            doc="Tool steps in one turn; the answer has to come after these.",
            shown=True,
        )


_ENV_RULE = "env and secret_env may not set a variable that the preset sets."
_HOME_RULE = "home_files may not replace a file that the preset writes as text."


def _shared(preset: Preset) -> Iterator[Field]:
    defaults: dict[str, Any] = {"serialize": preset.serialize, "confine": "auto"}
    known = COMMAND_SPEC.by_name
    for name in _SHARED:
        yield replace(known[name], default=defaults.get(name, known[name].default))


def _make(
    preset: Preset,
    *,
    program: str,
    model: str | None,
    policy: str,
    arguments: tuple[str, ...],
    home_files: Mapping[str, Path],
    images: bool = False,
    max_steps: int = 0,
    **shared: Any,
) -> PresetConfig:
    """Return the config.

    Raises:
        ValueError: Keys do not go together; the text is half a sentence.
    """
    taken = {*preset.environment, *HOME_VARIABLES, NO_REPOSITORY}
    if taken & {*shared["env"], *shared["secret_env"]}:
        raise ValueError(_ENV_RULE.removesuffix("."))
    files = {**preset.files, **preset.policies[policy].files}
    if any(isinstance(files.get(place), str) for place in home_files):
        raise ValueError(_HOME_RULE.removesuffix("."))
    return PresetConfig(
        command=CommandConfig(argv=(program,), model=model, **shared),
        policy=policy,
        arguments=arguments,
        home_files=home_files,
        images=images,
        max_steps=max_steps or preset.most_steps,
    )

"""What one engine CLI needs to be driven: the fields of a preset.

A preset is data and one function, which finds the answer in what the engine printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from conduck_service.base.jsonio import JsonValue
from conduck_service.executors.preset.records import Printed, Reading


class Input(StrEnum):
    """How the prompt stands on standard input; it is never in argv (C-SEC-23)."""

    TEXT = "text"
    """As text, in the preset's frame."""

    MESSAGE_LINE = "message_line"
    """As one line of JSON: a user message of text and image blocks, an empty text
    block last."""


class Channel(StrEnum):
    """How the images of the newest message reach the engine."""

    NONE = "none"
    """Not at all: such a turn is declined (C-IMG-02)."""

    ARGUMENT = "argument"
    """As files that the last arguments name."""

    INPUT = "input"
    """In the line on standard input; only with ``Input.MESSAGE_LINE``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Photos:
    """The way of images.

    Attributes:
        channel: How they reach the engine.
        flag: The option before the path of each image; empty when the path is an
            argument of its own.
        prefix: Stands before the path within its argument, such as ``@``.
        types: Media types that the engine takes; empty means every one.
        seen: What the model gets, in words for the reference.
    """

    channel: Channel = Channel.NONE
    flag: str = ""
    prefix: str = ""
    types: tuple[str, ...] = ()
    seen: str = "nothing: photos are declined"


class Expansion(StrEnum):
    """What becomes of ``@path`` and ``/command`` in chat text (C-SEC-04)."""

    NONE = "none"
    """The engine has no such thing."""

    OFF = "off"
    """The preset switches it off."""

    CONFINED = "confined"
    """Files of the working folder are spliced in, others never (C-SEC-06)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One answer, given up front, to all that the engine would ask (C-SEC-07).

    Attributes:
        arguments: Options that say it.
        files: Files of the turn's home that say it, like those of the preset.
        reach: What chat text can reach under it, in words for the reference.
    """

    arguments: tuple[str, ...] = ()
    files: Mapping[str, HomeFile] = field(default_factory=dict)
    reach: str


HomeFile = str | Mapping[str, JsonValue]
"""A file of the turn's home: its text, or an object that is written as JSON.

An object is laid over the operator's own file, where the config names one for this
place; what the preset says wins.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePart:
    """A part of the person's home that the turn's own home links to.

    Attributes:
        path: Relative to both homes.
        writes: Whether the engine has to write there.
        make: Make an empty folder in the person's home where there is none.
    """

    path: str
    writes: bool = False
    make: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """Bounds that an engine's own sandbox is to keep, beside the working folder.

    Attributes:
        policy: Name of the approval policy.
        read: What it may read, its own program included.
        write: What it may read and write.
    """

    policy: str
    read: tuple[Path, ...]
    write: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The largest prompt that an engine takes whole; above it no turn starts."""

    characters: int | None = None
    bytes: int | None = None

    def is_over(self, text: str) -> bool:
        """Say whether the engine would refuse this text, or cut it."""
        if self.characters is not None and len(text) > self.characters:
            return True
        # As bytes no text is more than four times as long.
        most = self.bytes
        return (
            most is not None
            and 4 * len(text) > most
            and len(text.encode("utf-8", "surrogateescape")) > most
        )


ESCALATING = (
    "*dangerous*",
    "*bypass*",
    "*yolo*",
    "*skip-permission*",
    "*allow-all*",
    "*auto-approve*",
    "*full-auto*",
    "*full-access*",
    "--yes*",
)
"""Words that no engine's extra arguments may hold (C-SEC-08)."""

SHORTENED = ("-", "--", "-[!0-9-]*", "--?")
"""Nor these: one word may hold several options of a letter, and the value of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """An engine CLI.

    In arguments, environment and texts of files stand ``{model}`` and ``{steps}``
    for values of the config, ``{withheld}`` for the variables of its ``secret_env``
    (each a comma and the name in quotes), ``{home}``, ``{standing}`` and ``{side}`` for
    paths of the turn: its home, a file with the standing instructions, and a place that
    does not exist yet, for what the engine reports beside its output.

    The argv is program, arguments, those of the policy, model, steps, the config's
    own, ``again`` in a second round, ``last``, and the images.

    Attributes:
        name: The executor's, which bindings name.
        label: What people call the engine.
        program: Looked for on PATH.
        arguments: Headless, quiet, with a structured result and no terminal.
        policies: By name; the first is the default. None approves everything.
        read: Finds the answer in what was printed.
        last: The last arguments before the images.
        model: Arguments that name the model, when the config does.
        steps: Arguments that limit the tool steps, where the engine can.
        most_steps: The limit, unless the config has another (C-SEC-14).
        input: How the prompt is written.
        frame: Lines before and behind the prompt, for an engine that trims its ends
            or reads commands at its beginning.
        drops_mark: Whether it takes a byte order mark off the front of its input.
        photos: The way of images.
        expansion: What the engine makes of references in chat text.
        expansion_words: The same in words for the reference.
        limit: Its own limit of the prompt.
        environment: Variables of every turn; they win over the config's.
        credentials: Variables of which the engine needs one, when it has no login.
        logins: Parts of the person's home that hold the login.
        home_parts: Other parts that it needs.
        files: Files of the turn's home.
        acts: Whether the engine has no tools, and says in blocks of its reply which
            files it wants to read and to write; we do that for it.
        again: Arguments with which the engine goes on with its session of this turn,
            to be asked for words after a bare tool turn; none when it cannot.
        hopeless: What the engine prints each time it waits for a connection that it
            will not get; the second time ends the turn.
        refused: Patterns of words that the config's extra arguments may not hold,
            beside ``ESCALATING`` and ``SHORTENED``.
        barred: Places in the working folder where the engine would find programs or
            settings that its policy does not hold, whatever it is told. A chat may
            have put them there, so no turn starts while one is there.
        serialize: Whether two turns in one folder collide.
        own_sandbox: Returns the arguments with which an engine that has a sandbox
            of its own keeps within these bounds; they stand in the place of the
            policy's, unless the config says ``confine: off``. The system does not
            confine such an engine: one sandbox fails within another.
        sandbox_trial: Arguments with which it runs a program that does nothing in
            its own sandbox, on Linux; none when it cannot.
        holds_itself: Whether the tools of the policies stay in the working folder
            without any confinement, as far as tests see it.
        version: Arguments that make it print its version.
        homepage: Where it comes from.
        tried_with: Version that the golden cases come from.
        notes: What an operator should know besides, a sentence each.
    """

    name: str
    label: str
    program: str
    arguments: tuple[str, ...]
    policies: Mapping[str, Policy]
    read: Callable[[Printed], Reading]
    last: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    most_steps: int = 50
    input: Input = Input.TEXT
    frame: tuple[str, str] = ("", "")
    drops_mark: bool = False
    photos: Photos = Photos()
    expansion: Expansion = Expansion.NONE
    expansion_words: str = "nothing is expanded"
    limit: Limit = Limit()
    environment: Mapping[str, str] = field(default_factory=dict)
    credentials: tuple[str, ...] = ()
    logins: tuple[HomePart, ...] = ()
    home_parts: tuple[HomePart, ...] = ()
    files: Mapping[str, HomeFile] = field(default_factory=dict)
    acts: bool = False
    again: tuple[str, ...] = ()
    hopeless: bytes = b""
    refused: tuple[str, ...] = ()
    barred: tuple[str, ...] = ()
    serialize: bool = False
    own_sandbox: Callable[[Within], tuple[str, ...]] | None = None
    sandbox_trial: tuple[str, ...] = ()
    holds_itself: bool = False
    version: tuple[str, ...] = ("--version",)
    homepage: str
    tried_with: str
    notes: tuple[str, ...] = ()

    @property
    def default_policy(self) -> str:
        """The policy of a config that names none."""
        return next(iter(self.policies))

    @property
    def counts_steps(self) -> bool:
        """Whether the engine can limit the tool steps, by an option or a file."""
        return bool(self.steps) or "{steps}" in str(self.files)

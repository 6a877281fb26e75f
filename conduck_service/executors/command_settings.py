"""Config of a ``command`` binding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conduck_service.base.diagnostics import Pointer
from conduck_service.base.jsonio import JsonValue
from conduck_service.executors.confinement.policy import Wanted
from conduck_service.executors.confinement.settings import CONFINE_FIELDS
from conduck_service.executors.environment import RESERVED_PREFIXES
from conduck_service.executors.folders import CWD
from conduck_service.executors.outputs import OUTPUT_SPEC, Output
from conduck_service.executors.stripping import STRIP_WORDS
from conduck_service.extension.kinds import (
    Boolean,
    Choice,
    Integer,
    ListOf,
    MapOf,
    Name,
    Object,
    Seconds,
    Text,
    Umask,
)
from conduck_service.extension.spec import (
    INVALID,
    Decoding,
    Field,
    Kind,
    Schema,
    Spec,
)

MODEL = "{model}"
IMAGE_DIR = "{image_dir}"
ANSWER_FILE = "{answer_file}"


@dataclass(frozen=True, slots=True)
class Argv(Kind):
    """A program and its arguments, never a shell line.

    A program with a slash in it is a path and starts at the config directory
    when it is relative; one without is looked for in the engine's PATH.
    """

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the argv as a tuple, or INVALID after noting why not."""
        argv = _ARGV.decode(value, at, into)
        if argv is INVALID:
            return INVALID
        if not argv[0]:
            return into.refuse(
                (*at, 0), "invalid_config", "the program is empty", "name a program"
            )
        program = str(into.base / argv[0]) if "/" in argv[0] else argv[0]
        return (program, *argv[1:])

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return {
            **_ARGV.schema(),
            "prefixItems": [_TEXT.schema()],
        }


@dataclass(frozen=True, slots=True)
class Argument(Kind):
    """One argument; it may be empty."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the argument, or INVALID after noting why not."""
        return "" if value == "" else _TEXT.decode(value, at, into)

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        text = _TEXT.schema()
        return {**text, "pattern": text["pattern"].replace("+", "*")}


_TEXT = Text()
_ARGV = ListOf(Argument(), non_empty=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """How images reach the engine."""

    mode: str = "none"
    flag: str | None = None
    dir: str = "temp"
    dir_argument: str | None = None
    types: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.flag is not None) != (self.mode == "argument"):
            raise ValueError("flag belongs to mode argument, and only there")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandConfig:
    """Decoded config of a command binding; the Spec says what each key is."""

    argv: tuple[str, ...]
    prompt: str = "stdin"
    format: str = "auto"
    model: str | None = None
    cwd: Path | None = None
    images: Images = Images()
    history_images: str = "disclose"
    empty_prompt: str = "accept"
    output: Output = field(default_factory=Output)
    strip: tuple[str, ...] = STRIP_WORDS
    serialize: bool = True
    transfer_argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    secret_env: Mapping[str, str] = field(default_factory=dict)
    max_request_bytes: int | None = None
    max_output_bytes: int = 8_388_608
    umask: int = 0o007
    kill_grace_seconds: float = 5.0
    confine: str = "off"
    confine_read: tuple[Path, ...] = ()
    confine_write: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if self.output.format == "file" and ANSWER_FILE not in self.argv:
            raise ValueError(f"output format file needs {ANSWER_FILE} in argv")
        if self.history_images == "forward" and self.images.mode == "none":
            raise ValueError("history_images forward needs an images mode")
        for name in (*self.env, *self.secret_env):
            if name.startswith(RESERVED_PREFIXES):
                raise ValueError(
                    "env and secret_env may not set OS_*, OPEN_CONDUIT_* or CONDUCK_*"
                )

    @property
    def confinement(self) -> Wanted:
        """What the config says about confinement."""
        return Wanted(
            confine=self.confine, read=self.confine_read, write=self.confine_write
        )


_IMAGES_SPEC = Spec(
    Images,
    (
        Field(
            name="mode",
            kind=Choice(("none", "file", "argument")),
            default="none",
            doc="Not at all, by a line in the text that names the file, or by an "
            "argument.",
        ),
        Field(
            name="flag",
            kind=Text(),
            default=None,
            doc="The option before each image's path, in mode argument.",
        ),
        Field(
            name="dir",
            kind=Choice(("temp", "working")),
            default="temp",
            doc="Where the turn's image files lie: in a private folder of the state "
            "directory, or in one inside the working folder.",
        ),
        Field(
            name="dir_argument",
            kind=Text(),
            default=None,
            doc="An option before the path of that folder, on turns with images.",
        ),
        Field(
            name="types",
            kind=ListOf(Text("image/[a-z0-9.+-]+", "a type such as image/png")),
            default=(),
            doc="Media types that the engine takes; all when left out.",
        ),
    ),
    rules=("flag belongs to mode argument, and only there.",),
)

COMMAND_SPEC: Spec[CommandConfig] = Spec(
    CommandConfig,
    (
        Field(
            name="argv",
            kind=Argv(),
            doc="The program and its arguments; {model}, {image_dir} and "
            "{answer_file} stand for values as whole elements.",
        ),
        Field(
            name="prompt",
            kind=Choice(("stdin", "argument")),
            default="stdin",
            doc="Whether the prompt is standard input, or one argument after --.",
        ),
        Field(
            name="format",
            kind=Choice(("auto",)),
            default="auto",
            doc="One message goes bare, several as a labelled transcript.",
        ),
        Field(
            name="model",
            kind=Text(),
            default=None,
            doc="The engine's own name of its model, for {model}.",
            shown=True,
        ),
        CWD,
        Field(
            name="images",
            kind=Object(_IMAGES_SPEC),
            default=Images(),
            doc="How images reach the engine.",
        ),
        Field(
            name="history_images",
            kind=Choice(("disclose", "forward")),
            default="disclose",
            doc="Whether earlier images are named as missing, or forwarded too.",
        ),
        Field(
            name="empty_prompt",
            kind=Choice(("accept", "carrier")),
            default="accept",
            doc="Whether the engine takes an image without text; if not, a fixed "
            "sentence stands in.",
        ),
        Field(
            name="output",
            kind=Object(OUTPUT_SPEC),
            default=Output(),
            doc="What the engine prints and how to read it.",
        ),
        Field(
            name="strip",
            kind=ListOf(Choice(STRIP_WORDS), unique=True),
            default=STRIP_WORDS,
            doc="Machinery that is removed from the answer.",
        ),
        Field(
            name="serialize",
            kind=Boolean(),
            default=True,
            doc="One turn at a time in a working folder.",
            shown=True,
        ),
        Field(
            name="transfer_argv",
            kind=ListOf(Argument()),
            default=(),
            doc="More arguments on turns that name a folder for files.",
        ),
        Field(
            name="env",
            kind=MapOf(Argument()),
            default={},
            doc="Environment variables with plain values.",
        ),
        Field(
            name="secret_env",
            kind=MapOf(Name()),
            default={},
            doc="Environment variables with the names of secrets.",
        ),
        Field(
            name="max_request_bytes",
            kind=Integer(1),
            default=None,
            doc="Largest request body that the engine survives, in bytes.",
            shown=True,
        ),
        Field(
            name="max_output_bytes",
            kind=Integer(1, 1_073_741_824),
            default=8_388_608,
            doc="Largest output of a turn, in bytes.",
            shown=True,
        ),
        Field(
            name="umask",
            kind=Umask(),
            default=0o007,
            doc="Umask of the engine, in octal digits.",
            shown=True,
        ),
        Field(
            name="kill_grace_seconds",
            kind=Seconds(0, 10),
            default=5.0,
            doc="Time between SIGTERM and SIGKILL.",
            shown=True,
        ),
        *CONFINE_FIELDS,
    ),
    rules=(
        f"output format file needs {ANSWER_FILE} in argv.",
        "history_images forward needs an images mode.",
        "env and secret_env may not set OS_*, OPEN_CONDUIT_* or CONDUCK_*.",
    ),
)

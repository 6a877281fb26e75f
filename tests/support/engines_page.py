"""Writes docs/reference/engines.md from the presets."""

from __future__ import annotations

import json
from collections.abc import Iterator

from conduck_service.executors.preset.frame import Channel, Expansion, Input, Preset
from conduck_service.executors.presets import PRESETS
from tests.support.trace import REFERENCE, ROOT

PAGE = REFERENCE / "engines.md"

HEAD = """# Engines that are driven out of the box

Written by `scripts/docs` from the presets, the same values that the program runs with.
[Run a ready-made engine](../howto/engines.md) says how to set one up, and
[Add an engine](../howto/add-an-engine.md) how to make a preset.

What holds for each of them: the prompt is on standard input, never in the argument
list. Every turn is a new session in a home of its own, which is removed afterwards;
of your home it holds links to the parts named here. What the engine may do is decided
up front and nothing asks. While `confine` is in force (`auto` is the default), neither
the engine nor what it starts reaches a file outside the working folder, the turn's own
folder, its own program and the system's. No preset approves everything.

*References* are what the engine makes of `@path` and `/command` in the text of a chat
message. *Words again*: after a turn that ended with a tool and no text, whether the
service asks once more. *Tried with*: the version that its golden cases come from.
"""


def page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *_overview(), *(_section(preset) for preset in PRESETS)])


def _overview() -> Iterator[str]:
    names = ("engine", "executor", "program", "photos", "references", "words again")
    yield f"| {' | '.join(names)} | tried with |"
    yield "| --- " * 7 + "|"
    for preset in PRESETS:
        cells = (
            f"[{preset.label}]({preset.homepage})",
            f"`{preset.name}`",
            f"`{preset.program}`",
            "no" if preset.photos.channel is Channel.NONE else "yes",
            preset.expansion_words,
            "yes" if preset.again else "no",
            preset.tried_with,
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _section(preset: Preset) -> str:
    lines = [f"## {preset.label} (`{preset.name}`)", ""]
    for name, policy in preset.policies.items():
        is_default = " (the default)" if name == preset.default_policy else ""
        lines.append(f"- Policy `{name}`{is_default}: {policy.reach}.")
    lines += [f"- {line}" for line in _facts(preset)]
    return "\n".join([*lines, ""])


def _facts(preset: Preset) -> Iterator[str]:
    yield f"Photos: {preset.photos.seen}."
    yield f"References in chat text: {preset.expansion_words}."
    if preset.expansion is Expansion.CONFINED:
        yield (
            "**Chat text can read files of the working folder**: this engine puts the "
            "file that `@name` names beside the message, and has no switch for it."
        )
    yield f"Confinement: {_confinement(preset)}."
    if preset.credentials:
        names = ", ".join(f"`{name}`" for name in preset.credentials)
        yield f"Key: one of {names}, by `secret_env` or `pass_env`."
    parts = [*preset.logins, *preset.home_parts]
    if parts:
        shown = (
            f"`~/{part.path}`{' (written too)' if part.writes else ''}"
            for part in parts
        )
        yield f"Of your home: {', '.join(shown)}."
    if preset.counts_steps:
        yield f"Tool steps: at most {preset.most_steps}, unless `max_steps` says more."
    else:
        yield "Tool steps: it has no limit of its own; the turn's deadline ends it."
    yield from _limits(preset)
    yield from preset.notes
    yield f"Golden cases: {', '.join(_cases(preset))}."


def _confinement(preset: Preset) -> str:
    if preset.own_sandbox is not None:
        return (
            "its own sandbox, told to let commands see the same files; `confine: "
            "off` opens reading, and `confine: required` asks nothing of the machine"
        )
    if preset.holds_itself:
        return "the system's, and its own tools stay in the working folder without it"
    return "the system's; without it, its tools reach what the service's user can"


def _limits(preset: Preset) -> Iterator[str]:
    characters, size = preset.limit.characters, preset.limit.bytes
    if characters is not None:
        yield f"Longest prompt: {characters:,} characters; more is `context_too_long`."
    if size is not None:
        yield f"Longest prompt: {size:,} bytes; more is `context_too_long`."
    if preset.barred:
        names = ", ".join(f"`{name}`" for name in preset.barred)
        yield f"No turn starts while the working folder holds {names}."
    if preset.input is Input.TEXT and any(preset.frame):
        yield "The prompt stands between fixed lines, so that none of it is lost."


def _cases(preset: Preset) -> Iterator[str]:
    folder = ROOT / "tests/presets" / preset.name
    for path in sorted(folder.glob("*/case.json")):
        is_recorded = json.loads(path.read_text("utf-8")).get("recorded")
        yield path.parent.name + ("" if is_recorded else " (made up)")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

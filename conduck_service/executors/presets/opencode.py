"""OpenCode: a native binary that keeps to the permissions of its config file."""

from __future__ import annotations

from collections.abc import Mapping

from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.execution import Finish
from conduck_service.executors.preset.frame import (
    Channel,
    HomeFile,
    HomePart,
    Photos,
    Policy,
    Preset,
)
from conduck_service.executors.preset.records import (
    Printed,
    Reading,
    at,
    text_at,
    usage_of,
)


def _read(printed: Printed) -> Reading:
    steps = [at(record, "part") for record in printed.of_type("step_finish")]
    # One message a model call: the text before a tool call is in an earlier one.
    last = steps[0] if steps else None
    reason = text_at(last, "reason")
    texts = [
        text_at(part, "text")
        for part in (at(record, "part") for record in printed.of_type("text"))
        if at(part, "messageID") == at(last, "messageID")
    ]
    error = printed.last("error")
    return Reading(
        answer="" if reason == "tool-calls" else "".join(reversed(texts)),
        is_good=reason in _GOOD and not error,
        finish=_FINISH.get(reason) if not error else None,
        usage=usage_of(*map(_counts, steps)),
        used_tools=bool(printed.last("tool_use")),
        is_too_long=text_at(error, "error", "name") == "ContextOverflowError",
    )


_GOOD = ("stop", "length", "tool-calls", "unknown", "other")
"""A provider that gives no reason has answered too; a filter has not."""

_FINISH = {"stop": Finish.STOP, "length": Finish.LENGTH}


def _counts(step: JsonValue) -> tuple[JsonValue, JsonValue]:
    """Return the tokens of one model call, whose kinds are counted apart."""
    read = (("input",), ("cache", "read"), ("cache", "write"))
    written = (("output",), ("reasoning",))
    return _sum(step, read), _sum(step, written)


def _sum(step: JsonValue, places: tuple[tuple[str, ...], ...]) -> int:
    counts = [at(step, "tokens", *place) for place in places]
    return sum(count for count in counts if isinstance(count, int))


def _permissions(**may: JsonValue) -> Mapping[str, HomeFile]:
    """Return a config file that denies all else.

    What asks would end the turn without a word, so nothing asks. What an operator's
    own file allows is named as denied; an agent's permissions would win over the
    general ones, so that they stand there too.
    """
    denied = dict.fromkeys(_DENIED, "deny")
    permission: dict[str, JsonValue] = {"*": "deny", **denied, **may}
    agents = {
        name: {"permission": permission, "steps": _STEPS} for name in ("build", "plan")
    }
    config: dict[str, JsonValue] = {
        "permission": permission,
        "agent": agents,
        "default_agent": "build",
        "share": "disabled",
        "autoupdate": False,
        "snapshot": False,
        # A summary in place of what the person wrote would be no answer to it.
        "compaction": {"auto": False},
        # Both run programs that they find in the working folder.
        "formatter": False,
        "lsp": False,
        "instructions": ["{standing}"],
    }
    return {".config/opencode/opencode.json": config}


_STEPS = 50
"""After so many calls of the model it is told that it may call no more tools."""

_BARRED = (".opencode", "opencode.json", "opencode.jsonc")
"""It runs plugins that these name or hold, though it is told not to."""

_EDIT = {
    "*": "allow",
    **{
        f"{at}{name}{end}": "deny"
        for name in _BARRED
        for at in ("", "*/")
        for end in ("", "/*")
    },
}

_DENIED = (
    "bash",
    "external_directory",
    "doom_loop",
    "webfetch",
    "websearch",
    "codesearch",
    "task",
    "skill",
    "question",
    "edit",
    "lsp",
)

OPENCODE = Preset(
    name="opencode",
    label="OpenCode",
    program="opencode",
    arguments=("run", "--format", "json", "--title", "turn"),
    policies={
        "edit": Policy(
            files=_permissions(
                read="allow", glob="allow", grep="allow", list="allow", edit=_EDIT
            ),
            reach="reads and writes files of the working folder; no shell, no web",
        ),
        "read": Policy(
            files=_permissions(read="allow", glob="allow", grep="allow", list="allow"),
            reach="reads files of the working folder; no shell, no web",
        ),
    },
    read=_read,
    model=("--model", "{model}"),
    drops_mark=True,
    photos=Photos(
        channel=Channel.ARGUMENT,
        flag="--file",
        types=("image/png", "image/jpeg", "image/gif", "image/webp"),
        seen="the same bytes, large ones as a smaller JPEG; a model of your own has "
        "to be declared with image input",
    ),
    environment={
        "XDG_CONFIG_HOME": "{home}/.config",
        "XDG_DATA_HOME": "{home}/.local/share",
        "XDG_STATE_HOME": "{home}/.local/state",
        "XDG_CACHE_HOME": "{home}/.cache",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER": "1",
        # At each start it would fetch a package for plugins.
        "NPM_CONFIG_OFFLINE": "true",
        # Files of the working folder may come from a chat: none of them is config,
        # instructions or a plugin, which would be a program.
        "OPENCODE_PURE": "1",
        "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
        "OPENCODE_DISABLE_CLAUDE_CODE": "1",
        "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
    },
    credentials=("OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"),
    # Where it keeps rg, which it would fetch for its search otherwise.
    home_parts=(HomePart(path=".cache/opencode/bin"),),
    logins=(HomePart(path=".local/share/opencode/auth.json", writes=True),),
    again=("--continue",),
    barred=_BARRED,
    refused=(
        "--auto",
        "--attach",
        "--dir",
        "--agent",
        "--share",
        "--session",
        "--continue",
        "--fork",
        "--command",
        "--format",
        "--file",
        "--model",
        "--title",
        "--port",
        "--interactive",
        "--password",
        "--username",
        "--no-*",
    ),
    holds_itself=True,
    homepage="https://opencode.ai",
    tried_with="1.18.33",
    notes=(
        "An endpoint of your own, and its models, stand in an opencode.json that "
        "home_files names.",
        "A symbolic link in the working folder leads its tools out of it where the "
        "system does not confine it, and to its own login anyhow.",
        "Its search needs rg, on PATH or in ~/.cache/opencode/bin.",
        "It is told to call no more tools after 50 calls of the model.",
        "It asks a model that fails five times more, for about a minute, before it "
        "gives up.",
    ),
)

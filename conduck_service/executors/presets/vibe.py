"""Mistral Vibe: prints its messages as one array, and leaves a report beside it."""

from __future__ import annotations

from conduck_service.domain.execution import Finish
from conduck_service.domain.standing import STANDING_INSTRUCTIONS
from conduck_service.executors.preset.frame import (
    Expansion,
    HomePart,
    Limit,
    Policy,
    Preset,
)
from conduck_service.executors.preset.records import (
    Printed,
    Reading,
    at,
    items_at,
    text_at,
    usage_of,
)


def _read(printed: Printed) -> Reading:
    report, usage = printed.side, at(printed.side, "usage")
    is_cut = text_at(report, "outcome") == "length"
    return Reading(
        answer=_last_words(printed, kept=None if is_cut else "committed"),
        is_good=text_at(report, "outcome") == "finished"
        and not at(report, "error")
        and bool(printed.records),
        finish=Finish.LENGTH if is_cut else None,
        usage=usage_of((at(usage, "input_tokens"), at(usage, "output_tokens"))),
        used_tools=bool(printed.last("effect")),
        is_too_long="maximum context length" in text_at(report, "error", "message"),
    )


def _last_words(printed: Printed, *, kept: str | None) -> str:
    """Return the text of the last message, unless a tool came after it.

    Args:
        printed: By the engine.
        kept: What the engine says of a message that counts; None for any.
    """
    for item in printed.of_type("effect", "message"):
        outcome = text_at(item, "outcome", "type")
        if item.get("role") == "assistant" and kept in (None, outcome):
            return "".join(text_at(part, "text") for part in items_at(item, "content"))
        if item.get("type") == "effect":
            break
    return ""


VIBE = Preset(
    name="vibe",
    label="Mistral Vibe",
    program="vibe",
    arguments=("--output", "json", "--output-dir", "{side}"),
    policies={
        "edit": Policy(
            arguments=(
                "--agent",
                "accept-edits",
                "--enabled-tools",
                "read_file",
                "--enabled-tools",
                "write_file",
                "--enabled-tools",
                "edit",
            ),
            reach="reads and writes files of the working folder; no shell, no web",
        ),
        "read": Policy(
            arguments=(
                "--agent",
                "ask",
                "--enabled-tools",
                "read_file",
            ),
            reach="reads files of the working folder; no shell, no web",
        ),
    },
    read=_read,
    # It takes the next word as the prompt, when there is one.
    last=("-p",),
    steps=("--max-turns", "{steps}"),
    # Both ends are trimmed.
    frame=("The conversation:\n\n", "\n\nEnd of the conversation."),
    expansion=Expansion.CONFINED,
    expansion_words="@path of a file in the working folder brings its content along; "
    "other paths stay text",
    limit=Limit(bytes=1_048_576),
    environment={
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "VIBE_HOME": "{home}/.vibe",
        "VIBE_ACTIVE_MODEL": "{model}",
        "VIBE_API_RETRY_MAX_ELAPSED_TIME": "5",
        "VIBE_BYPASS_TOOL_PERMISSIONS": "false",
        "VIBE_ENABLE_AUTO_UPDATE": "false",
        "VIBE_ENABLE_BACKGROUND_PROCESSES": "false",
        "VIBE_ENABLE_CONNECTORS": "false",
        "VIBE_ENABLE_MCP": "false",
        "VIBE_ENABLE_NOTIFICATIONS": "false",
        "VIBE_ENABLE_OTEL": "false",
        "VIBE_ENABLE_SUBAGENTS": "false",
        "VIBE_ENABLE_TELEMETRY": "false",
        "VIBE_ENABLE_UPDATE_CHECKS": "false",
        # Each retry discards a cut answer; the last one is all that we want.
        "VIBE_OUTPUT_LIMIT_RETRIES": "0",
    },
    credentials=("MISTRAL_API_KEY",),
    logins=(HomePart(path=".vibe/.env"),),
    files={".vibe/AGENTS.md": STANDING_INSTRUCTIONS},
    again=("--continue",),
    refused=(
        "--prompt*",
        "--output*",
        "--agent",
        "--auto-approve",
        "--smart-approve",
        "--enabled-tools",
        "--disabled-tools",
        "--trust",
        "--add-dir",
        "--workdir",
        "--worktree",
        "--continue",
        "--resume",
        "--setup",
        "--check-upgrade",
        "mcp",
        "update",
    ),
    holds_itself=True,
    homepage="https://github.com/mistralai/mistral-vibe",
    tried_with="3.0.2",
    notes=(
        "Models of your own and their endpoints stand in a .vibe/config.toml that "
        "home_files names; model is an alias there.",
        "The working folder counts as one that is not trusted: .vibe and AGENTS.md in "
        "it have no effect.",
        "The model is shown a shell, which is refused, and a runner of small programs, "
        "whose calls keep to the policy.",
    ),
)

"""Claude Code: a native binary that takes a message with photos as one JSON line."""

from __future__ import annotations

from conduck_service.domain.execution import Finish
from conduck_service.domain.standing import STANDING_INSTRUCTIONS
from conduck_service.executors.preset.frame import (
    Channel,
    Expansion,
    HomePart,
    Input,
    Photos,
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
    result = printed.last("result")
    counts = at(result, "usage")
    read = [at(counts, name) for name in _READ]
    is_cut = at(result, "api_error") == "max_output_tokens"
    # The text of an error stands where an answer would, and subtype still says
    # success; what the model wrote before it is in the stream.
    answer = _last_words(printed) if is_cut else text_at(result, "result")
    return Reading(
        answer=answer,
        is_good=at(result, "is_error") is False
        and at(result, "subtype") == "success"
        and at(result, "num_turns") not in (0, None),
        finish=Finish.LENGTH if is_cut else _FINISH.get(text_at(result, "stop_reason")),
        usage=usage_of((_sum(read), at(counts, "output_tokens"))),
        used_tools=any(
            at(part, "type") == "tool_use"
            for record in printed.of_type("assistant")
            for part in items_at(record, "message", "content")
        ),
        is_too_long=text_at(result, "result").startswith("Prompt is too long"),
    )


_FINISH = {"end_turn": Finish.STOP, "stop_sequence": Finish.STOP}
_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def _sum(counts: list[object]) -> int:
    return sum(count for count in counts if isinstance(count, int))


def _last_words(printed: Printed) -> str:
    """Return the newest text of the model; notes of the engine have no model."""
    for record in printed.of_type("assistant"):
        if at(record, "error") or at(record, "message", "model") == "<synthetic>":
            continue
        parts = items_at(record, "message", "content")
        text = "".join(text_at(part, "text") for part in parts)
        if text.strip():
            return text
    return ""


CLAUDE_CODE = Preset(
    name="claude_code",
    label="Claude Code",
    program="claude",
    arguments=(
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--no-session-persistence",
        "--restricted",
        "--strict-mcp-config",
        "--permission-prompts",
        "none",
        "--append-system-prompt",
        STANDING_INSTRUCTIONS,
    ),
    policies={
        "edit": Policy(
            arguments=(
                "--permission-mode",
                "acceptEdits",
                "--tools",
                "Read,Write,Edit,Glob,Grep",
            ),
            reach="reads and writes files of the working folder; no shell, no web",
        ),
        "read": Policy(
            arguments=(
                "--permission-mode",
                "dontAsk",
                "--tools",
                "Read,Glob,Grep",
            ),
            reach="reads files of the working folder; no shell, no web",
        ),
    },
    read=_read,
    model=("--model", "{model}"),
    steps=("--max-turns", "{steps}"),
    input=Input.MESSAGE_LINE,
    photos=Photos(
        channel=Channel.INPUT,
        types=("image/png", "image/jpeg", "image/gif", "image/webp"),
        seen="the same bytes; large ones become smaller",
    ),
    expansion=Expansion.OFF,
    expansion_words="off: an empty last block, and a variable",
    environment={
        "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
        "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "CLAUDE_CONFIG_DIR": "{home}/.claude",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    },
    credentials=(
        "ANTHROPIC_API_KEY",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "ANTHROPIC_AUTH_TOKEN",
    ),
    logins=(HomePart(path=".claude/.credentials.json", writes=True),),
    # After a bare tool turn it asks for words by itself, so there is no ``again``.
    refused=(
        "--permission-*",
        "--tools",
        "--allowed*",
        "--add-dir",
        "--settings",
        "--setting-sources",
        "--mcp-config",
        "--file",
        "--from-pr",
        "--debug-file",
        "--plugin-*",
        "--resume",
        "--continue",
        "--session-id",
        "--input-format",
        "--output-format",
        "--worktree",
        "--agents",
        "--agent",
        "--bg",
        "--background",
        "--remote-control*",
        "--cloud",
        "--teleport",
        "--chrome",
        "--ide",
    ),
    holds_itself=True,
    homepage="https://github.com/anthropics/claude-code",
    tried_with="2.1.332",
)

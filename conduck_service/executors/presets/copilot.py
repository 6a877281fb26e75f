"""GitHub Copilot CLI: a Node launcher and a native child."""

from __future__ import annotations

from collections.abc import Mapping

from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.standing import STANDING_INSTRUCTIONS
from conduck_service.executors.preset.frame import (
    Channel,
    Expansion,
    HomePart,
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
    messages = list(printed.of_type("assistant.message"))
    last = messages[0] if messages else {}
    error = printed.last("session.error")
    result = printed.last("result")
    message = text_at(error, "data", "message").lower()
    return Reading(
        # What stands beside a call of a tool is a remark.
        answer="" if items_at(last, "data", "toolRequests") else _text(last),
        is_good=at(result, "exitCode") == 0 and not error and _is_whole(printed),
        usage=usage_of(*_counts(printed.side)),
        used_tools=any(items_at(item, "data", "toolRequests") for item in messages),
        is_too_long=any(sign in message for sign in _TOO_LONG),
    )


_TOO_LONG = (
    "context_length_exceeded",
    "context length",
    "context window",
    "prompt budget",
)


def _is_whole(printed: Printed) -> bool:
    """Say whether the answer has its beginning.

    When a limit cuts the text off, the engine drops what it has, asks the model to
    continue, and shows the continuation as the answer.
    """
    has_spoken = is_whole = True
    was_silent = False
    for record in printed.records:
        if record.get("type") == "assistant.turn_start":
            has_spoken, was_silent = False, not has_spoken
        elif record.get("type") == "assistant.message":
            has_spoken, is_whole = True, not was_silent
    return is_whole


def _text(message: JsonValue) -> str:
    return text_at(message, "data", "content")


def _counts(report: JsonValue) -> list[tuple[JsonValue, JsonValue]]:
    """Return the tokens of each model that took part."""
    models = at(report, "modelMetrics")
    usages = (
        [at(item, "usage") for item in models.values()]
        if isinstance(models, Mapping)
        else []
    )
    return [(at(item, "inputTokens"), at(item, "outputTokens")) for item in usages]


COPILOT = Preset(
    name="copilot",
    label="GitHub Copilot CLI",
    program="copilot",
    arguments=(
        "--output-format",
        "json",
        "--stream",
        "off",
        "--no-color",
        "--no-auto-update",
        "--disable-client-telemetry",
        "--no-ask-user",
        # Files of the working folder may come from a chat: none of them gives
        # instructions or starts a server.
        "--no-custom-instructions",
        "--disable-builtin-mcps",
        "--no-remote",
        "--no-remote-export",
        "--no-bash-env",
        "--disallow-temp-dir",
        "--usage-output-file",
        "{side}",
    ),
    policies={
        "edit": Policy(
            arguments=(
                "--available-tools=view,create,edit,glob,grep,bash",
                "--allow-tool=write",
                # A new file needs its folder, which no other tool makes.
                "--allow-tool=shell(mkdir)",
            ),
            reach="reads and writes files of the working folder, and makes folders "
            "there; no other commands, no web",
        ),
        "read": Policy(
            arguments=("--available-tools=view,glob,grep",),
            reach="reads files of the working folder; no shell, no web",
        ),
    },
    read=_read,
    model=("--model", "{model}"),
    # It has no place for instructions that the working folder cannot fill too.
    frame=(
        f"{STANDING_INSTRUCTIONS}\n\nThe conversation:\n\n",
        "\n\nEnd of the conversation.\n",
    ),
    photos=Photos(
        channel=Channel.ARGUMENT,
        flag="--attachment",
        types=("image/png", "image/jpeg", "image/gif", "image/webp"),
        seen="the same bytes; large ones become smaller",
    ),
    expansion=Expansion.OFF,
    expansion_words="off: a line before the text keeps /commands text",
    environment={
        "COPILOT_ALLOW_ALL": "false",
        "COPILOT_ASSISTED_APPROVAL": "false",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_HOME": "{home}/.copilot",
        "XDG_CACHE_HOME": "{home}/.cache",
    },
    credentials=(
        "COPILOT_GITHUB_TOKEN",
        "GH_TOKEN",
        "GITHUB_TOKEN",
        "COPILOT_PROVIDER_API_KEY",
        "COPILOT_PROVIDER_BEARER_TOKEN",
    ),
    logins=(HomePart(path=".copilot/config.json", writes=True),),
    # It unpacks itself there, 245 MB: once, and not in each turn.
    home_parts=(HomePart(path=".cache/copilot", writes=True, make=True),),
    again=("--continue",),
    refused=(
        "--allow-*",
        "--available-tools",
        "--excluded-tools",
        "--deny-tool",
        "--add-dir",
        "--add-github-*",
        "--enable-*",
        "--additional-mcp-config",
        "--mcp-github-auth",
        "--plugin-dir",
        "--trust-*",
        "--assisted-approval",
        "--mode",
        "--autopilot",
        "--plan",
        "--fleet",
        "--agent",
        "--acp",
        "--prompt",
        "--interactive",
        "--attachment",
        "--continue",
        "--resume",
        "--session-id",
        "--connect",
        "--name",
        "--remote*",
        "--environment-*",
        "--share*",
        "--output-format",
        "--stream",
        "--silent",
        "--usage-output-file",
        "--log-dir",
        "--extension-sdk-path",
        "--bash-env",
        "--experimental",
        "--model",
    ),
    holds_itself=True,
    homepage="https://github.com/github/copilot-cli",
    tried_with="1.0.102",
    notes=(
        "With a provider of your own (COPILOT_PROVIDER_BASE_URL and its like in env) "
        "COPILOT_OFFLINE=true keeps it from all other traffic.",
        "An answer that a limit of tokens cuts off is an error: the engine keeps the "
        "last of its parts only.",
        "It keeps what it unpacks of itself in ~/.cache/copilot.",
    ),
)

"""Qwen Code: a Node program that prints its messages as one array, the result last."""

from __future__ import annotations

from conduck_service.domain.standing import STANDING_INSTRUCTIONS
from conduck_service.executors.preset.frame import (
    Expansion,
    HomePart,
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

_TOO_LONG = ("Context is too large to send", "maximum context length")


def _read(printed: Printed) -> Reading:
    result = printed.last("result")
    usage = at(result, "usage")
    error = text_at(result, "error", "message")
    return Reading(
        # Errors stand as text in messages of the model, so only this counts. Of an
        # output limit it tells nothing, so there is no finish.
        answer=text_at(result, "result"),
        is_good=at(result, "is_error") is False and at(result, "subtype") == "success",
        usage=usage_of((at(usage, "input_tokens"), at(usage, "output_tokens"))),
        used_tools=any(
            at(part, "type") == "tool_use"
            for record in printed.of_type("assistant")
            for part in items_at(record, "message", "content")
        ),
        is_too_long=any(words in error for words in _TOO_LONG),
    )


_READING = "read_file,list_directory,glob,grep_search"
_WITHOUT = (
    "agent,list_agents,send_message,skill,tool_call,tool_search,get_goal,update_goal,"
    "report_findings,enter_worktree,exit_worktree,record_artifact,task_stop,"
    "run_shell_command,monitor,web_fetch,web_search,save_memory,todo_write,"
    "ask_user_question,exit_plan_mode,enter_plan_mode"
)
_SETTINGS = ".qwen/settings.json"

QWEN = Preset(
    name="qwen",
    label="Qwen Code",
    program="qwen",
    arguments=(
        "--output-format",
        "json",
        "--approval-mode",
        "default",
        "--exclude-tools",
        _WITHOUT,
        "--append-system-prompt",
        STANDING_INSTRUCTIONS,
    ),
    policies={
        "edit": Policy(
            arguments=("--core-tools", f"{_READING},edit,write_file"),
            reach="reads and writes files of the working folder; no shell, no web",
        ),
        "read": Policy(
            arguments=("--core-tools", _READING),
            reach="reads files of the working folder; no shell, no web",
        ),
    },
    read=_read,
    model=("--model", "{model}"),
    steps=("--max-session-turns", "{steps}"),
    # A slash as the first character would be a command of the engine.
    frame=("The conversation:\n\n", "\n\nEnd of the conversation."),
    expansion=Expansion.CONFINED,
    expansion_words="@path of a file in the working folder brings its content along; "
    "other paths stay text",
    environment={
        "QWEN_HOME": "{home}/.qwen",
        "QWEN_CODE_NO_RELAUNCH": "true",
        "QWEN_SANDBOX": "false",
        "QWEN_USAGE_STATISTICS_ENABLED": "false",
        "QWEN_DISABLE_AUTO_TITLE": "1",
        "NO_COLOR": "1",
    },
    credentials=("OPENAI_API_KEY",),
    logins=(HomePart(path=".qwen/oauth_creds.json", writes=True),),
    files={
        _SETTINGS: {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "memory": {"enableManagedAutoMemory": False},
            # Untrusted, the folder's own settings, hooks and .env files do not count.
            "security": {"folderTrust": {"enabled": True}},
            "permissions": {"allow": ["Edit(./**)", "Read(./**)"]},
            # It tries seven times by itself; each of these would be tried again.
            "model": {"generationConfig": {"maxRetries": 0}},
        },
    },
    again=("--continue",),
    refused=(
        "--prompt*",
        "--approval-mode",
        "--allowed-*",
        "--core-tools",
        "--exclude-tools",
        "--include-directories",
        "--add-dir",
        "--mcp-config",
        "--extensions",
        "--sandbox*",
        "--output-format",
        "--input-*",
        "--json-*",
        "--continue",
        "--resume",
        "--session-id",
        "--fork-session",
        "--worktree",
        "--acp",
        "--channel",
        "--experimental-*",
        "--system-prompt",
        "--append-system-prompt",
        "--insecure",
        "--openai-logging*",
        "--openai-api-key",
        "--telemetry*",
        "--safe-mode",
        "--bare",
        "--debug",
    ),
    holds_itself=True,
    homepage="https://github.com/QwenLM/qwen-code",
    tried_with="0.24.4",
    notes=(
        "An endpoint of your own (OPENAI_BASE_URL in env) and its own login need a "
        ".qwen/settings.json in home_files whose security.auth.selectedType says "
        '"openai" or "qwen-oauth".',
        "The working folder counts as one that is not trusted: settings, hooks, "
        "QWEN.md and .env files in it have no effect.",
        "A symbolic link in the working folder leads its tools out of it where the "
        "system does not confine it, and to its own login anyhow.",
        "It asks a model that fails six times more, for one to four minutes, before "
        "it gives up.",
        "Of an answer that a limit of tokens cuts off it does not tell: it has the "
        "model go on, four times at most, and joins the parts.",
    ),
)

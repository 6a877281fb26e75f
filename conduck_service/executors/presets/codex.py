"""Codex CLI: a native binary with a sandbox of its own."""

from __future__ import annotations

import json

from conduck_service.domain.execution import Finish
from conduck_service.domain.standing import STANDING_INSTRUCTIONS
from conduck_service.executors.preset.frame import (
    Channel,
    HomePart,
    Limit,
    Photos,
    Policy,
    Preset,
    Within,
)
from conduck_service.executors.preset.records import (
    Printed,
    Reading,
    at,
    text_at,
    usage_of,
)

_TOOLS = ("command_execution", "file_change", "mcp_tool_call", "web_search")


def _read(printed: Printed) -> Reading:
    items = [at(record, "item") for record in printed.of_type("item.completed")]
    messages = [
        text_at(item, "text") for item in items if at(item, "type") == "agent_message"
    ]
    # A retry is told as "error" and a warning as an item; only this is the end.
    failure = text_at(printed.last("turn.failed"), "error", "message")
    usage = at(printed.last("turn.completed"), "usage")
    is_cut = "max_output_tokens" in failure
    return Reading(
        answer=_after_tools(items) if not is_cut else next(iter(messages), ""),
        is_good=bool(printed.last("turn.completed")) and not failure,
        finish=Finish.LENGTH if is_cut else None,
        usage=usage_of((at(usage, "input_tokens"), at(usage, "output_tokens"))),
        used_tools=any(at(item, "type") in _TOOLS for item in items),
        is_too_long="context window" in failure,
    )


def _after_tools(items: list[object]) -> str:
    """Return the last message; a remark before a tool call is no answer."""
    for item in items:
        if at(item, "type") == "agent_message":
            return text_at(item, "text")
        if at(item, "type") in _TOOLS:
            return ""
    return ""


def _sandbox(within: Within) -> tuple[str, ...]:
    """Return a permission profile: what is not in it is not there for commands."""
    work = "write" if within.policy == "edit" else "read"
    paths = [(path, "read") for path in within.read]
    paths += [(path, "write") for path in within.write]
    table = [
        '":minimal"="read"',
        f'":workspace_roots"={{"."="{work}"}}',
        *(f'{json.dumps(str(path))}="{access}"' for path, access in paths),
    ]
    return (
        "-c",
        'default_permissions="conduck"',
        "-c",
        f"permissions.conduck.filesystem={{{', '.join(table)}}}",
        "-c",
        "permissions.conduck.network.enabled=false",
    )


CODEX = Preset(
    name="codex",
    label="Codex CLI",
    program="codex",
    arguments=(
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--color",
        "never",
        "--disable",
        "plugins",
        "-c",
        # git obeys a repository in the sandbox alone, where its commands are held too.
        'shell_environment_policy.exclude=["*KEY*","*TOKEN*","*SECRET*","*PASS*",'
        '"*CREDENTIAL*","GIT_DIR"{withheld}]',
        "-c",
        'web_search="disabled"',
        "-c",
        "project_doc_max_bytes=0",
        "-c",
        "features.goals=false",
        "-c",
        "skills.bundled.enabled=false",
        "-c",
        # A JSON text is a basic string of TOML too.
        f"developer_instructions={json.dumps(STANDING_INSTRUCTIONS)}",
    ),
    policies={
        "edit": Policy(
            arguments=(
                "-s",
                "workspace-write",
                "-c",
                "sandbox_workspace_write.exclude_slash_tmp=true",
                "-c",
                "sandbox_workspace_write.exclude_tmpdir_env_var=true",
            ),
            reach="runs commands in its own sandbox: they read and write the working "
            "folder, read the system's programs, and have no network",
        ),
        "read": Policy(
            arguments=("-s", "read-only"),
            reach="runs commands in its own sandbox: they read the working folder and "
            "the system's programs, write nothing there, and have no network",
        ),
    },
    read=_read,
    last=("-",),
    model=("-m", "{model}"),
    drops_mark=True,
    photos=Photos(
        channel=Channel.ARGUMENT,
        flag="-i",
        types=("image/png", "image/jpeg", "image/gif", "image/webp"),
        seen="the same bytes; large ones become smaller",
    ),
    limit=Limit(characters=1_048_576),
    environment={"CODEX_HOME": "{home}/.codex"},
    credentials=("OPENAI_API_KEY", "CODEX_API_KEY"),
    logins=(HomePart(path=".codex/auth.json", writes=True),),
    again=("resume", "--last"),
    hopeless=b'{"type":"error","message":"Reconnecting... waiting for network',
    refused=(
        "*sandbox*",
        "*permission*",
        "*approv*",
        "*mcp-servers*",
        "*shell-environment-policy*",
        "*notify*",
        "*hooks*",
        "*web-search*",
        "apps*",
        "developer-instructions*",
        "features*",
        "model-instructions*",
        "plugins*",
        "project*",
        "skills*",
        "tools*",
        "--disable",
        "--ignore-*",
        "--add-dir",
        "--profile",
        "--cd",
        "--image",
        "--json",
        "--output-last-message",
        "--enable",
        "--remote*",
        "--trust",
        "--worktree",
    ),
    own_sandbox=_sandbox,
    sandbox_trial=("sandbox", "true"),
    homepage="https://github.com/openai/codex",
    tried_with="0.171.0",
)

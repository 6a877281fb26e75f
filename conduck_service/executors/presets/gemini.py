"""Gemini CLI: a Node program that prints one object at the end of the turn."""

from __future__ import annotations

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
    text_at,
    usage_of,
)


def _read(printed: Printed) -> Reading:
    result = next((item for item in reversed(printed.records) if "stats" in item), {})
    models = at(result, "stats", "models")
    calls = at(result, "stats", "tools", "totalCalls")
    counts = [
        (at(model, "tokens", "prompt"), _written(at(model, "tokens")))
        for model in (models.values() if isinstance(models, dict) else ())
    ]
    return Reading(
        # The last message alone; text before a tool call is not in it. An output
        # limit is told nowhere, so there is no finish.
        answer=text_at(result, "response"),
        is_good=bool(result) and not at(result, "error"),
        usage=usage_of(*counts),
        used_tools=isinstance(calls, int) and calls > 0,
        # Over the model's window it ends well, without a word and without a call.
        is_too_long=models == {} and not at(result, "error"),
    )


def _written(tokens: object) -> int:
    counts = (at(tokens, "candidates"), at(tokens, "thoughts"))
    return sum(count for count in counts if isinstance(count, int))


_READING = ("read_file", "list_directory", "glob", "grep_search")


def _rules(*tools: str) -> str:
    """Return rules that allow these tools; denied ones the model does not even see."""
    names = ", ".join(f'"{tool}"' for tool in tools)
    return (
        f'[[rule]]\ntoolName = [{names}]\ndecision = "allow"\npriority = 999\n\n'
        '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 998\n'
    )


_POLICY = ".gemini/conduck-policy.toml"

GEMINI = Preset(
    name="gemini",
    label="Gemini CLI",
    program="gemini",
    arguments=(
        "--output-format",
        "json",
        "--policy",
        f"{{home}}/{_POLICY}",
        "--extensions",
        "none",
    ),
    policies={
        "edit": Policy(
            files={_POLICY: _rules(*_READING, "write_file", "replace")},
            reach="reads and writes files of the working folder; no shell, no web",
        ),
        "read": Policy(
            files={_POLICY: _rules(*_READING)},
            reach="reads files of the working folder; no shell, no web",
        ),
    },
    read=_read,
    model=("--model", "{model}"),
    # A slash as the first character would be a command; blanks at the end are lost.
    frame=("The conversation:\n\n", "\n\nEnd of the conversation."),
    expansion=Expansion.CONFINED,
    expansion_words="@path of a file in the working folder brings its content along; "
    "other paths stay text",
    limit=Limit(bytes=8 * 1024 * 1024),
    environment={
        # A trusted folder may bring settings, and hooks, that run commands; engine
        # and model write there. Untrusted it runs too when trust is not asked for.
        "GEMINI_RESTRICTED_MODE": "true",
        "GEMINI_CLI_TRUST_WORKSPACE": "false",
        "GEMINI_CLI_HOME": "{home}",
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_SANDBOX": "false",
        "GEMINI_TELEMETRY_ENABLED": "false",
        "NO_COLOR": "1",
    },
    credentials=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    logins=(
        HomePart(path=".gemini/oauth_creds.json", writes=True),
        HomePart(path=".gemini/google_accounts.json", writes=True),
    ),
    files={
        ".gemini/settings.json": {
            "general": {
                "enableAutoUpdate": False,
                "enableAutoUpdateNotification": False,
                # Ten by default, which takes minutes.
                "maxAttempts": 2,
                "topicUpdateNarration": False,
            },
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "model": {"maxSessionTurns": "{steps}"},
            "security": {"folderTrust": {"enabled": False}},
            "advanced": {"ignoreLocalEnv": True, "autoConfigureMemory": False},
            "experimental": {"enableAgents": False, "autoMemory": False},
            "hooksConfig": {"enabled": False},
            "skills": {"enabled": False},
            "admin": {
                "secureModeEnabled": True,
                "mcp": {"enabled": False},
                "extensions": {"enabled": False},
            },
            "context": {"includeDirectories": []},
        },
        ".gemini/GEMINI.md": STANDING_INSTRUCTIONS,
    },
    again=("--resume", "latest"),
    refused=(
        "--prompt*",
        "--policy",
        "--admin-policy",
        "--approval-mode",
        "--allowed-*",
        "--skip-trust",
        "--include-directories",
        "--extensions",
        "--sandbox",
        "--output-format",
        "--resume",
        "--session-*",
        "--acp",
        "--experimental-acp",
        "--worktree",
        "--debug",
        "--raw-output",
        "--fake-responses",
        "--record-responses",
    ),
    holds_itself=True,
    homepage="https://github.com/google-gemini/gemini-cli",
    tried_with="0.61.0",
    notes=(
        "An endpoint of your own (GOOGLE_GEMINI_BASE_URL in env) and a Google login "
        "need a .gemini/settings.json in home_files whose security.auth.selectedType "
        'says "gemini-api-key" or "oauth-personal".',
        "The working folder counts as one that is not trusted: settings, hooks, "
        "GEMINI.md and .env files in it have no effect.",
        "Of an answer that a limit of tokens cuts off it does not tell; colours and "
        "other control sequences are taken out of every answer.",
        "While the system confines it on Linux, @path brings nothing along: it looks "
        "for such a file from the root folder, which it may not list.",
    ),
)

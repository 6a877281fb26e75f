"""The file tool as an OpenAI-style server is told of it, and as its model calls it."""

from __future__ import annotations

from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.standing import STANDING_INSTRUCTIONS
from conduck_service.executors.file_actions import READ, WRITE, FileActions
from conduck_service.executors.http.reply import Reply
from conduck_service.executors.results import LENIENT

INSTRUCTIONS = f"""{STANDING_INSTRUCTIONS}
Your tools for that: {WRITE} makes a file in the named folder together with the folder;
{READ} opens a file that was sent to you. You have no other way to files.
"""
"""What the model is told where it has the tool."""

WANT_WORDS = "Reply to the message above in words now, without calling a tool."
"""Asks once more where a turn ended in a call or in silence."""


def _tool(name: str, description: str, properties: dict[str, str]) -> JsonValue:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {
                    key: {"type": "string", "description": words}
                    for key, words in properties.items()
                },
                "required": ["path"],
            },
        },
    }


TOOLS: list[JsonValue] = [
    _tool(
        WRITE,
        "Write one file into the folder that the message names for files.",
        {
            "path": "The named folder, a slash and a plain file name.",
            "content": "All of the file, as text.",
            "content_base64": "All of the file in base64, in place of content, for "
            "a file that is no text.",
        },
    ),
    _tool(
        READ,
        "Read a text file below the working folder.",
        {"path": "Exactly the path that the message gives."},
    ),
]
"""The tools in the form of the API."""


def run_calls(reply: Reply, actions: FileActions) -> list[JsonValue]:
    """Carry out the calls of a reply; return it and the results, as messages.

    Calls without an id, as some servers write them, get one.
    """
    echoed: list[JsonValue] = []
    results: list[JsonValue] = []
    for number, call in enumerate(reply.calls, start=1):
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        name, arguments = function.get("name"), function.get("arguments")
        name = name if isinstance(name, str) else ""
        written = arguments if isinstance(arguments, str) else "{}"
        found = call.get("id")
        identity = found if isinstance(found, str) and found else f"call_{number}"
        echoed.append(
            {
                "id": identity,
                "type": "function",
                "function": {"name": name, "arguments": written},
            }
        )
        results.append(
            {
                "role": "tool",
                "tool_call_id": identity,
                "content": _result(name, arguments, actions),
            }
        )
    said = {"role": "assistant", "content": reply.text or None, "tool_calls": echoed}
    return [said, *results]


def _result(name: str, arguments: JsonValue, actions: FileActions) -> str:
    if isinstance(arguments, str):
        try:
            arguments = LENIENT.decode(arguments)
        except (ValueError, RecursionError):
            return "not done: the arguments are no JSON"
    if not isinstance(arguments, dict):
        return "not done: the arguments are no object"
    return actions.run(name, arguments)

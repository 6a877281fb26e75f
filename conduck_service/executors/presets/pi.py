"""pi: a Node program without approvals; its bounds are in what we let it load."""

from __future__ import annotations

from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.execution import Finish
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

_EXTENSION = """\
import { lstatSync, realpathSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
const root = realpathSync(".");
function real(path) {
  try {
    lstatSync(path);
  } catch {
    return join(real(dirname(path)), basename(path));
  }
  return realpathSync(path);
}
function held(path) {
  const at = real(resolve(root, path));
  if (/^[~@]/.test(path) || /[^\\S ]/.test(at)) throw new Error("an odd path");
  if (at !== root && !at.startsWith(root + "/")) throw new Error("outside");
  return at;
}
export default function (pi) {
  const calls = [];
  let text = "";
  let steps = 0;
  pi.registerFlag("conduck-steps", { type: "string" });
  pi.on("tool_call", ({ input }, context) => {
    const over = ++steps - Number(pi.getFlag("conduck-steps"));
    if (over > 10) context.abort();
    if (over > 0) {
      const reason = "The limit of tool calls is reached. Answer now, in words.";
      return { block: true, reason };
    }
    try {
      if (input.path !== undefined) input.path = held(input.path);
    } catch {
      return { block: true, reason: "Use a path below the working folder." };
    }
  });
  pi.on("message_end", ({ message }) => {
    if (message.role !== "assistant") return;
    const { stopReason, errorMessage, usage, content } = message;
    const part = (type) => content.filter((item) => item.type === type);
    calls.push({ stopReason, errorMessage, usage, tools: part("toolCall").length });
    text = part("text").map((item) => item.text).join("\\n");
  });
  pi.on("agent_end", () => {
    writeFileSync(process.env.CONDUCK_REPORT, JSON.stringify({ calls, text }));
  });
}
"""
"""What pi loads to keep its tools to the working folder, to tell how the turn ended,
and to end one that goes on and on.

pi itself reads and writes whatever it is told to, its own login among it. A tool gets
the path that was looked at, with every link resolved: pi understands ``~``, ``@`` and
odd blanks in its own way.

Its own JSON output repeats the whole message with every piece of it, which makes
hundreds of megabytes of a long answer; its text output does not say that a limit
cut the answer off.
"""


def _read(printed: Printed) -> Reading:
    calls = items_at(printed.side, "calls")
    # One that failed was tried again; the last one counts.
    counted = [call for call in calls if at(call, "stopReason") not in _FAILED]
    last = calls[-1] if calls else None
    reason = text_at(last, "stopReason")
    error = text_at(last, "errorMessage").lower()
    return Reading(
        answer=text_at(printed.side, "text") if reason != "toolUse" else "",
        is_good=reason in ("stop", "length", "toolUse"),
        finish=_FINISH.get(reason),
        usage=usage_of(*map(_counts, counted)),
        used_tools=any(at(call, "tools") for call in calls),
        is_too_long=reason == "error" and any(sign in error for sign in _TOO_LONG),
    )


_FAILED = ("error", "aborted")
_FINISH = {"stop": Finish.STOP, "length": Finish.LENGTH}
_TOO_LONG = (
    "context window",
    "context length",
    "context_length",
    "context size",
    "prompt is too long",
)


def _counts(call: JsonValue) -> tuple[JsonValue, JsonValue]:
    read = [at(call, "usage", name) for name in ("input", "cacheRead", "cacheWrite")]
    total = sum(count for count in read if isinstance(count, int))
    return total, at(call, "usage", "output")


PI = Preset(
    name="pi",
    label="pi",
    program="pi",
    arguments=(
        "--print",
        "--mode",
        "text",
        "--offline",
        # Files of the working folder may come from a chat: none of them is an
        # extension, which would be a program, or instructions.
        "--no-extensions",
        "--no-skills",
        "--no-prompt-templates",
        "--no-themes",
        "--no-context-files",
        "--extension",
        "{home}/.pi/conduck.js",
        "--session-dir",
        "{home}/.pi/sessions",
        "--append-system-prompt",
        "{standing}",
    ),
    policies={
        "edit": Policy(
            arguments=("--tools", "read,write,edit,grep,find,ls"),
            reach="reads and writes files of the working folder; no shell, no web",
        ),
        "read": Policy(
            arguments=("--tools", "read,grep,find,ls"),
            reach="reads files of the working folder; no shell, no web",
        ),
    },
    read=_read,
    model=("--model", "{model}"),
    steps=("--conduck-steps", "{steps}"),
    frame=("The conversation:\n\n", "\n\nEnd of the conversation.\n"),
    photos=Photos(
        channel=Channel.ARGUMENT,
        prefix="@",
        types=("image/png", "image/jpeg", "image/gif", "image/webp"),
        seen="the same bytes; a model of your own has to be declared with image input",
    ),
    expansion=Expansion.OFF,
    expansion_words="off: a line before the text keeps /commands text",
    environment={
        "CONDUCK_REPORT": "{side}",
        "PI_CODING_AGENT_DIR": "{home}/.pi/agent",
        "PI_OFFLINE": "1",
        "PI_SKIP_VERSION_CHECK": "1",
        "PI_TELEMETRY": "0",
    },
    credentials=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"),
    logins=(HomePart(path=".pi/agent/auth.json", writes=True),),
    # Where it keeps rg and fd, which it would fetch for its search otherwise.
    home_parts=(HomePart(path=".pi/agent/bin"),),
    files={
        ".pi/conduck.js": _EXTENSION,
        ".pi/agent/settings.json": {
            "packages": [],
            "images": {"autoResize": False, "blockImages": False},
            # A summary in place of what the person wrote would be no answer to it.
            "compaction": {"enabled": False},
        },
    },
    again=("--continue",),
    barred=(".pi/settings.json", ".pi/SYSTEM.md"),
    refused=(
        "@*",
        "--mode",
        "--print",
        "--tools",
        "--no-*tools",
        "--extension",
        "--skill",
        "--prompt-template",
        "--continue",
        "--resume",
        "--session*",
        "--fork",
        "--no-session",
        "--api-key",
        "--model",
        "--system-prompt",
        "--append-system-prompt",
        "--export",
        "--conduck-*",
    ),
    holds_itself=True,
    homepage="https://github.com/badlogic/pi-mono",
    tried_with="0.73.1",
    notes=(
        "An endpoint of your own, and its models, stand in a models.json that "
        "home_files names.",
        "Its search needs rg and fd, on PATH or in ~/.pi/agent/bin.",
    ),
)

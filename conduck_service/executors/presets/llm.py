"""llm: a Python program that asks a model once, without tools."""

from __future__ import annotations

from conduck_service.domain.execution import Finish
from conduck_service.executors.preset.frame import (
    Channel,
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
    result = printed.records[-1] if printed.records else {}
    reason = text_at(result, "response_json", "choices", 0, "finish_reason")
    return Reading(
        answer=text_at(result, "response"),
        is_good=bool(result) and reason not in _FAILURES,
        finish=_FINISH.get(reason),
        usage=usage_of((at(result, "input_tokens"), at(result, "output_tokens"))),
    )


_FINISH = {"stop": Finish.STOP, "length": Finish.LENGTH}
_FAILURES = ("error", "content_filter")


LLM = Preset(
    name="llm",
    label="llm",
    program="llm",
    arguments=("prompt", "--no-stream", "--no-log", "--json", "--hide-reasoning"),
    policies={
        "ask": Policy(
            reach="nothing: it has no tools; in a turn that names a folder for files "
            "we write there, and read text below the working folder, as it asks"
        ),
    },
    read=_read,
    model=("--model", "{model}"),
    photos=Photos(
        channel=Channel.ARGUMENT,
        flag="--attachment",
        types=("image/png", "image/jpeg", "image/gif", "image/webp"),
        seen="the same bytes",
    ),
    environment={"LLM_USER_PATH": "{home}/.config/io.datasette.llm"},
    credentials=("OPENAI_API_KEY",),
    logins=(HomePart(path=".config/io.datasette.llm/keys.json"),),
    refused=(
        "--tool*",
        "--functions",
        "--td",
        "--ta",
        "--cl",
        "--chain-limit",
        "--fragment",
        "--sf",
        "--system-fragment",
        "--template",
        "--attachment",
        "--at",
        "--attachment-type",
        "--continue",
        "--cid",
        "--conversation",
        "--database",
        "--log",
        "--save",
        "--json",
        "--async",
        "--usage",
        "--extract*",
        "--xl",
    ),
    acts=True,
    holds_itself=True,
    homepage="https://github.com/simonw/llm",
    tried_with="0.36",
    notes=(
        "It has no tools: files are read and written for it by us, when the model asks "
        "for that in its reply as it is told to. Small models often do not.",
        "Models of your own, or behind another address, stand in "
        "extra-openai-models.yaml: name it in home_files, with the place "
        ".config/io.datasette.llm/extra-openai-models.yaml.",
        "Keys that it keeps elsewhere than ~/.config (macOS) come by a variable.",
    ),
)

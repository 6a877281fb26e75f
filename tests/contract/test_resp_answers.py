"""Good turns: one complete answer, in the one shape, without the machinery."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.engines import Engine, Engines, engine, serving
from tests.support.service import user, wait_until

JSON = {"format": "json", "answer": "/result"}
JSONL = {"format": "jsonl", "answer": "/text"}


def says(*values: Any, output: dict[str, Any] = JSONL) -> Engine:
    """Return an engine that prints JSON values, one a line."""
    lines = "".join(json.dumps(value) + "\n" for value in values)
    return engine(["print", lines], output=output)


CALL = '@save(call_abc): {"path": "a.txt", "n": {"b": "}"}}'

TEXTS = {
    "plain": ("ok\n", "ok"),
    "trailing": ("  a \n\n b\n", "  a \n\n b"),
    "trailing_crlf": ("a\r\nb\r\n\r\n", "a\r\nb"),
    "trailing_blanks": ("a  \n \n", "a  \n "),
    "thought": ("<think>x</think>\nIt is 4.\n", "It is 4."),
    "long_thought": ("<think>\n1\n\n2\n</think>\n\nIt is 4.\n", "It is 4."),
    "thinking": ("<thinking>x</thinking>It is 4.", "It is 4."),
    "reasoning": ("<reasoning>x</reasoning>\nIt is 4.", "It is 4."),
    "call": (f"{CALL}\nSaved.\n", "Saved."),
    "call_without_arguments": ("Done.\n@complete(call_x): {}\n", "Done."),
    "literal_call": ("@save(call_abc): {...}\nSaved.", "Saved."),
    "long_call": ('@save(c): {\n  "a": [\n1]\n}\nSaved.', "Saved."),
    "all_of_it": (
        f"<think>x</think>\n{CALL}\nIt is 4.\n<think>y</think>\n@done(c): {{}}\n",
        "It is 4.",
    ),
    "one_line": (f"<think>x</think>{CALL} It is 4.", "It is 4."),
    "between": (f"First.\n{CALL}\nSecond.\n", "First.\nSecond."),
    "unopened": ("Hm.\n</think>\n\nIt is 4.\n", "It is 4."),
    "nested": ("<think>a<think>b</think>c</think>\nIt is 4.", "It is 4."),
    "twice": ("<think>x</think>\nA\n<think>y</think>\nB", "A\nB"),
}

KEPT = {
    "html": "Use `<div>` for it, or mail ann@example.org.",
    "block": "```html\n<div>\n  <think>really</think>\n</div>\n```",
    "call_in_block": f"Write:\n~~~\n{CALL}\n~~~\nThen go.",
    "open_block": f"```\n{CALL}",
    "longer_fence": f"````\n```\n{CALL}\n```\n````",
    "tag_inside_a_line": "The tag <think>x</think> marks thoughts.",
    "tag_in_quotes": "> <think>x</think>",
    "address": "@ann: {please} call me",
    "decorator": "@cache(size)\ndef f(): ...",
    "default": "@Input(name): { default }\nis how it is written.",
    "dots": "@Input(name): {...}\nis how it is written.",
    "indented_code": f"Write:\n\n    <think>x</think>\n\n\t{CALL}\n\nThen go.",
    "block_in_a_list": f"1. Write:\n\n    ```\n{CALL}\n    ```\n2. Then go.",
    "mentioned_end": "The tag `</think>` ends a thought.",
    "mentioned_beginning": "A thought begins with\n<think>\nand then goes on.",
    "no_call": "@save(call_abc): all of it",
    "call_inside_a_line": f"It ran {CALL} and stopped.",
    "comparison": "1 < 2 > 0 & 3",
    "words": "NaN, Infinity and null are words.",
    "other_tag": "<thought>x</thought>",
    "code": '{"choices": [], "error": {"message": "no"}}',
}

LAST_ANSWERS: dict[str, list[Any]] = {
    "bare_call": [{"text": "It is 4."}, {"text": "@complete(call_x): {}"}],
    "bare_thought": [{"text": "It is 4."}, {"text": "<think>was it?</think>"}],
    "blank": [{"text": "It is 4."}, {"text": " \n"}, {"text": ""}],
    "several": [{"text": "Hm."}, {"text": "It is 4."}, {"text": CALL}, {"n": 1}],
}

NOISE = "npm warn old\n[INFO] up\n{\n{'a': 1}\n{\"result\": 7}\n[1] 42\n"
RESULT = json.dumps({"result": "It is 4.", "log": "<think>x</think>"}, indent=1)
NOISY = {
    "clean": RESULT,
    "before": NOISE + RESULT,
    "behind": RESULT + "\nbye\n[exit]\n",
    "around": NOISE + RESULT + "\n" + NOISE,
    "earlier_result": '{"result": "draft"}\n' + RESULT + "\n",
}

FILES = {
    "plain": ("It is 4.", "It is 4."),
    "trailing": ("  a \n\n b\n", "  a \n\n b"),
    "thought": ("<think>x</think>\nIt is 4.\n", "It is 4."),
}


def writes(item: tuple[str, str]) -> Engine:
    """Return an engine that prints notes and writes its answer to a file."""
    return engine(
        ["print", "notes"],
        ["answer", item[0]],
        arguments=("--answer", "{answer_file}"),
        output={"format": "file"},
    )


ENGINES = {
    **{f"text_{name}": engine(["print", item[0]]) for name, item in TEXTS.items()},
    **{f"kept_{name}": engine(["print", item]) for name, item in KEPT.items()},
    **{f"json_{n}": says({"result": t}, output=JSON) for n, t in KEPT.items()},
    **{f"last_{name}": says(*item) for name, item in LAST_ANSWERS.items()},
    **{f"noisy_{n}": engine(["print", t], output=JSON) for n, t in NOISY.items()},
    "bytes": engine(["print_bytes", "61ff62c328"]),
    **{f"file_{name}": writes(item) for name, item in FILES.items()},
    "raw": engine(["print", CALL + "\nSaved."], strip=["think"]),
}


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    with serving(tmp_path_factory.mktemp("resp"), ENGINES) as them:
        yield them


@pytest.mark.req("C-RESP-01")
def test_the_reply_comes_when_the_whole_turn_is_done(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    early, final = (json.dumps({"text": word}) + "\n" for word in ("early", "final"))
    steps = (["print", early], ["wait_for", str(gate)], ["print", final])
    responses: list[requests.Response] = []
    with serving(tmp_path, {"slow": engine(*steps, output=JSONL)}) as them:
        ask = threading.Thread(
            target=lambda: responses.append(them.service.turn(user("x")))
        )
        ask.start()
        stub = them.stubs["slow"]
        wait_until(lambda: stub.records)
        ask.join(1.0)
        assert responses == []
        ended: list[Any] = [stub.only["ended"]]
        gate.touch()
        ask.join(20)
        ended.append(stub.only["ended"])
    assert ended[0] is None
    assert ended[1] is not None
    content = responses[0].json()["choices"][0]["message"]["content"]
    assert content == "final"


@pytest.mark.req("C-RESP-02", "C-RESP-03", "C-RESP-05")
@pytest.mark.parametrize("model", ["text_plain", "last_several", "noisy_clean"])
def test_a_good_turn_has_the_one_shape(engines: Engines, model: str) -> None:
    run = engines.run(model, user("x"))
    assert run.status == 200  # C-RESP-02
    assert run.response.headers["Content-Type"] == "application/json"  # C-RESP-02
    body = run.body
    assert set(body) <= {"choices", "model", "id", "usage"}  # C-RESP-03
    (choice,) = body["choices"]
    assert set(choice) <= {"message", "finish_reason"}  # C-RESP-03
    assert set(choice["message"]) == {"role", "content"}  # C-RESP-03
    assert choice["message"]["role"] == "assistant"  # C-RESP-03
    content = choice["message"]["content"]
    assert isinstance(content, str)  # C-RESP-03
    assert len(content) > 0  # C-RESP-05


@pytest.mark.req("C-RESP-10")
@pytest.mark.parametrize(
    "name", [name for name in TEXTS if not name.startswith("trail")]
)
def test_machinery_is_stripped(engines: Engines, name: str) -> None:
    assert engines.run(f"text_{name}", user("x")).answer == TEXTS[name][1]


def test_only_the_machinery_that_config_names_is_stripped(engines: Engines) -> None:
    assert engines.run("raw", user("x")).answer == CALL + "\nSaved."


@pytest.mark.req("C-RESP-24")
@pytest.mark.parametrize("name", ["trailing", "trailing_crlf", "trailing_blanks"])
def test_line_breaks_at_the_end_go_and_all_else_stays(
    engines: Engines, name: str
) -> None:
    assert engines.run(f"text_{name}", user("x")).answer == TEXTS[name][1]


@pytest.mark.req("C-RESP-12")
@pytest.mark.parametrize("name", FILES)
def test_an_answer_file_is_read_instead_of_what_is_printed(
    engines: Engines, name: str
) -> None:
    run = engines.run(f"file_{name}", user("x"))
    assert run.answer == FILES[name][1]
    assert not Path(run.record["argv"][-1]).exists()
    assert engines.service.scratch == []


@pytest.mark.req("C-RESP-11")
@pytest.mark.parametrize("name", LAST_ANSWERS)
def test_the_last_message_with_an_answer_counts(engines: Engines, name: str) -> None:
    assert engines.run(f"last_{name}", user("x")).answer == "It is 4."


@pytest.mark.req("C-RESP-12")
@pytest.mark.parametrize("name", NOISY)
def test_the_structured_result_is_found_in_noise(engines: Engines, name: str) -> None:
    assert engines.run(f"noisy_{name}", user("x")).answer == "It is 4."


@pytest.mark.req("C-RESP-25")
def test_bytes_that_are_no_text_are_replaced(engines: Engines) -> None:
    assert engines.run("bytes", user("x")).answer == "a\ufffdb\ufffd("


@pytest.mark.req("C-RESP-30")
@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("form", ["kept", "json"])
def test_what_only_looks_like_machinery_is_kept(
    engines: Engines, form: str, name: str
) -> None:
    assert engines.run(f"{form}_{name}", user("x")).answer == KEPT[name]


@pytest.mark.req("C-RESP-22")
@pytest.mark.parametrize("literal", [b"NaN", b"Infinity", b"-Infinity"])
@pytest.mark.parametrize("shape", [b"%b", b"[1,%b]", b'{"y":%b}'])
def test_numbers_that_are_no_json_are_refused(
    engines: Engines, literal: bytes, shape: bytes
) -> None:
    body = b'{"messages":[{"role":"user","content":"x"}],"x":%b}' % (shape % literal)
    assert engines.service.post(body).status_code == 400
    assert engines.service.post(body.replace(literal, b"1")).status_code == 200

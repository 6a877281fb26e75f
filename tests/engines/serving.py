"""A real engine behind the real listeners, with a scripted model behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.engines.installed import need
from tests.presets.recording import BY_NAME, about, config_of, filled
from tests.support.lane import Lane, serving_files
from tests.support.model_reply import Reply, ToolCall
from tests.support.model_server import Asked, ModelServer, Step, model_server
from tests.support.service import Service


@dataclass(frozen=True, slots=True)
class Bench:
    """What a test has in its hands."""

    engine: str
    service: Service
    model: ModelServer

    @property
    def lane(self) -> Lane:
        """The file lane of the service."""
        return Lane.of(self.service)

    @property
    def asked(self) -> list[Asked]:
        """What the model was asked, lists of models and counts of tokens left out."""
        return [
            item
            for item in self.model.asked
            if item.method == "POST" and not item.path.endswith("count_tokens")
        ]

    def has_tool(self, kind: str) -> bool:
        """Say whether the engine has a tool to read, write or run a command."""
        return about(self.engine).get("tools", {}).get(kind) is not None

    def write(self, words: str, path: Path, content: str) -> Reply:
        """Return what a model says that has whole lines to write into a file.

        It is to be asked again until the file is there, since some engines want the
        folder to be made first.
        """
        if path.exists():
            return Reply(words)
        if BY_NAME[self.engine].acts:
            place = path.relative_to(self.service.folder)
            return Reply(f"{words}\n```write_file {place}\n{content.rstrip()}\n```")
        if self.has_tool("folder") and not path.parent.exists():
            return Reply(words, calls=(self.call("folder", path=str(path.parent)),))
        call = self.call("write", path=str(path), content=content)
        return Reply(words, calls=(call,))

    def call(self, kind: str, **places: str) -> ToolCall:
        """Return a call of the engine's own tool."""
        name, given = about(self.engine)["tools"][kind]
        return ToolCall(name, filled(given, places))

    def sent(self) -> bytes:
        """Return everything that reached the model."""
        return b"\n".join(item.body for item in self.model.asked)


@contextmanager
def serving(
    engine: str,
    root: Path,
    *script: Step,
    home: Path | None = None,
    timeout_seconds: float = 45,
    **config: Any,
) -> Iterator[Bench]:
    """Run a daemon with one real engine for the block.

    Args:
        engine: Name of the preset.
        root: An empty folder.
        script: What the model answers.
        home: The person's home; an empty one when left out.
        timeout_seconds: Of a turn.
        config: More keys of the binding's config.
    """
    need(engine)
    assert engine in BY_NAME
    person = home or root / "person"
    person.mkdir(exist_ok=True)
    with model_server(*script or (Reply("pong"),)) as model:
        binding = {
            "name": "engine",
            "executor": engine,
            "config": config_of(engine, model.url, root, config),
            "timeout_seconds": timeout_seconds,
        }
        with serving_files(
            root, bindings={"agent": binding}, environment={"HOME": str(person)}
        ) as service:
            yield Bench(engine, service, model)

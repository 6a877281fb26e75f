"""The executor ``demo``: an engine without AI, run as a user's engine is run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from conduck_service.base.python import module_argv
from conduck_service.domain.conversation import Conversation
from conduck_service.domain.scope import Binding, Scope
from conduck_service.executors.command import CommandExecutor
from conduck_service.executors.command_settings import CommandConfig, Images
from conduck_service.executors.folders import CWD, adapted, check_folder
from conduck_service.executors.transcript import build_prompt
from conduck_service.extension.executor import (
    Capabilities,
    ExecutionContext,
    ExecutorType,
    RunResult,
)
from conduck_service.extension.kinds import Boolean
from conduck_service.extension.spec import Decoding, Field, Spec

PROGRAM = "conduck_service.demo_engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoConfig:
    """Config of a demo binding."""

    photos: bool = False
    cwd: Path | None = field(default=None)


class DemoExecutor:
    """Runs the demo engine through the ``command`` executor.

    The engine has no eyes, so by default photos are refused; with ``photos`` it
    gets them as files and names their type, size and digest.
    """

    def __init__(self, command: CommandExecutor) -> None:
        self._command = command

    def capabilities(self, config: DemoConfig) -> Capabilities:
        """Return what the demo engine can take."""
        return Capabilities(images=config.photos)

    def folder(self, config: DemoConfig) -> Path | None:
        """Return the configured cwd."""
        return config.cwd

    def run(self, config: DemoConfig, context: ExecutionContext) -> RunResult:
        """Run one turn of the demo engine."""
        images = Images(mode="argument", flag="--photo") if config.photos else Images()
        command = CommandConfig(
            argv=_argv(context.conversation), images=images, serialize=False
        )
        return self._command.run(command, context)


def _argv(conversation: Conversation) -> tuple[str, ...]:
    """Return the argv; counts are told, so that the engine need not guess them."""
    prompt = build_prompt(conversation, {}, name_paths=False, carrier=False)
    photos = sum(len(message.images) for message in conversation.earlier)
    return (
        *module_argv(PROGRAM, is_isolated=True),
        "--earlier-messages",
        str(len(conversation.earlier)),
        "--earlier-photos",
        str(photos),
        "--newest-bytes",
        str(len(prompt.newest.encode("utf-8"))),
    )


def _check(binding: Binding, scope: Scope, into: Decoding) -> None:
    check_folder(binding, scope, into)


def demo_type(executor: DemoExecutor) -> ExecutorType:
    """Return the registration of the executor."""
    spec = Spec(
        DemoConfig,
        (
            Field(
                name="photos",
                kind=Boolean(),
                default=False,
                doc="Take photos, and name their type, size and digest.",
                shown=True,
            ),
            CWD,
        ),
    )
    return ExecutorType(
        name="demo", spec=spec, executor=executor, check=_check, adapt=adapted
    )

"""The executor of a preset: one turn of an engine CLI, or two when it left no words."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from conduck_service.base.diagnostics import Diagnostic, Level
from conduck_service.base.processes import Launch, LaunchError, Supervisor
from conduck_service.domain.execution import FailureCode
from conduck_service.domain.scope import Binding, Scope
from conduck_service.executors.command import CommandExecutor
from conduck_service.executors.command_settings import CommandConfig
from conduck_service.executors.confinement.policy import ConfinementError
from conduck_service.executors.environment import engine_environment
from conduck_service.executors.file_actions import FileActions, named_folder
from conduck_service.executors.images import write_images
from conduck_service.executors.preset.acting import act
from conduck_service.executors.preset.confine import Bounds, bounds_of
from conduck_service.executors.preset.frame import Channel, Preset
from conduck_service.executors.preset.home import TurnHome, make_home
from conduck_service.executors.preset.input import (
    ASK_FOR_WORDS,
    is_sound,
    written_prompt,
    written_request,
)
from conduck_service.executors.preset.reading import BareToolTurn, judge, printed
from conduck_service.executors.preset.settings import (
    HOME_VARIABLES,
    NO_REPOSITORY,
    PresetConfig,
    preset_spec,
)
from conduck_service.executors.streams import EngineFile
from conduck_service.executors.watching import Files, supervise
from conduck_service.extension.executor import (
    Capabilities,
    Completed,
    ConfigObject,
    ExecutionContext,
    ExecutorType,
    Failed,
    Found,
    RunResult,
)
from conduck_service.extension.spec import Decoding


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn that is ready to be run."""

    config: PresetConfig
    context: ExecutionContext
    home: TurnHome
    environment: Mapping[str, str]
    bounds: Bounds
    pictures: tuple[Path, ...]


class PresetExecutor:
    """Runs the engine of one preset.

    Args:
        preset: How it is driven.
        supervisor: Starts and ends the trees.
        environment: The daemon's environment, of which engines see a safe part.
    """

    def __init__(
        self, preset: Preset, supervisor: Supervisor, environment: Mapping[str, str]
    ) -> None:
        self._preset = preset
        self._supervisor = supervisor
        self._environment = environment
        self._command = CommandExecutor(supervisor, environment)

    def capabilities(self, config: PresetConfig) -> Capabilities:
        """Return what the engine can take."""
        return Capabilities(
            images=config.images,
            image_types=self._preset.photos.types,
            max_request_bytes=config.command.max_request_bytes,
            serialize=config.command.serialize,
        )

    def folder(self, config: PresetConfig) -> Path | None:
        """Return the configured cwd."""
        return config.cwd

    def check(self, binding: Binding, scope: Scope, into: Decoding) -> None:
        """Note what is wrong between a binding and its scope."""
        own = into.own()
        command: CommandConfig = binding.config.command
        if self._preset.own_sandbox is not None and command.confine == "required":
            command = replace(command, confine="auto")  # it needs no help of ours
        self._command.check(replace(binding, config=command), scope, own)
        for problem in own.problems:
            if problem.pointer[:2] == ("config", "argv"):
                problem = replace(problem, pointer=("config", "program"))  # noqa: PLW2901
            into.problems.append(problem)
        into.problems.extend(_missing_files(binding.config))

    def run(self, config: PresetConfig, context: ExecutionContext) -> RunResult:
        """Run one turn; when it returns, nothing of it is alive."""
        conversation = context.conversation
        text = written_prompt(self._preset, conversation)
        if self._preset.limit.is_over(text):
            # C-SEC-17: some engines would cut it without a word.
            return Failed(FailureCode.CONTEXT_TOO_LONG, "over the engine's own limit")
        if not all(is_sound(image) for image in conversation.newest.images):
            return Failed(FailureCode.ENGINE_ERROR, "a picture is broken")
        if any(os.path.lexists(context.folder / name) for name in self._preset.barred):
            return Failed(
                FailureCode.CANNOT_START, "the working folder holds what is barred"
            )
        try:
            turn = self.prepared(config, context)
        except ValueError:
            return Failed(FailureCode.CANNOT_START, "a file of home_files is unusable")
        except ConfinementError:
            return Failed(FailureCode.CANNOT_START, "it cannot be confined")
        except OSError:
            return Failed(FailureCode.RESOURCE_UNAVAILABLE, "no room for the turn")
        if (cut := context.interrupted()) is not None:
            return Failed(cut)
        try:
            if self._preset.acts and conversation.names_folder:
                return self._acted(turn, text)
            return self._worded(turn, text)
        finally:
            turn.home.give_back()

    def _worded(self, turn: Turn, text: str) -> RunResult:
        """Ask an engine, and once more when it worked and said nothing."""
        result = self._round(turn, text, ())
        if not isinstance(result, BareToolTurn):
            return result
        words = written_request(self._preset, ASK_FOR_WORDS)
        result = self._round(replace(turn, pictures=()), words, self._preset.again)
        if isinstance(result, Completed):
            # Counts of a part of the turn would be less than the truth.
            result = replace(result, usage=None)
        return result

    def _acted(self, turn: Turn, text: str) -> RunResult:
        """Ask an engine without tools, and do with files what it says."""
        context = turn.context
        actions = FileActions(
            context.folder, named_folder(context.conversation), context.scratch
        )
        return act(lambda prompt: self._round(turn, prompt, ()), text, actions)

    def prepared(self, config: PresetConfig, context: ExecutionContext) -> Turn:
        """Return a turn with its home made, and its pictures written.

        Raises:
            ConfinementError: The engine has to be confined, and cannot be.
            OSError: There is no room.
            ValueError: A file of ``home_files`` is not what it has to be.
        """
        folder = context.scratch(None)
        person = self._environment.get("HOME")
        home = make_home(self._preset, config, folder, Path(person) if person else None)
        environment = self.engine_environment(config, context, home)
        bounds = bounds_of(
            self._preset,
            config,
            home=home,
            folders=(context.folder, folder),
            environment=environment,
            person=person,
        )
        pictures: tuple[Path, ...] = ()
        if self._preset.photos.channel is Channel.ARGUMENT:
            images = context.conversation.newest.images
            pictures = tuple(write_images(images, folder, context.interrupted).values())
        return Turn(
            config=config,
            context=context,
            home=home,
            environment=environment,
            bounds=bounds,
            pictures=pictures,
        )

    def engine_environment(
        self, config: PresetConfig, context: ExecutionContext, home: TurnHome
    ) -> dict[str, str]:
        """Return the whole environment; what the preset says wins over the config."""
        command = config.command
        given = engine_environment(
            self._environment,
            context.host_env,
            command.env,
            {key: context.secrets[name] for key, name in command.secret_env.items()},
        )
        fixed = {
            name: home.filled(value, config)
            for name, value in self._preset.environment.items()
        }
        own = {
            **dict.fromkeys(HOME_VARIABLES[1:], str(home.temporary)),
            "HOME": str(home.path),
            NO_REPOSITORY: str(home.path / "no-repository"),
        }
        return {**given, **own, **fixed}

    def _round(self, turn: Turn, text: str, again: tuple[str, ...]) -> RunResult:
        with ExitStack() as stack:
            try:
                files = Files(
                    stdin=stack.enter_context(EngineFile.holding(text)),
                    stdout=stack.enter_context(EngineFile.empty()),
                    stderr=stack.enter_context(EngineFile.empty()),
                    answer_file=None,
                )
            except OSError:
                return Failed(FailureCode.RESOURCE_UNAVAILABLE, "no room for the turn")
            launch = Launch(
                argv=arguments_of(self._preset, turn, again),
                environment=turn.environment,
                folder=turn.context.folder,
                umask=turn.config.command.umask,
                stdin=files.stdin.fileno(),
                stdout=files.stdout.fileno(),
                stderr=files.stderr.fileno(),
                marker=turn.context.marker,
                confinement=turn.bounds.confinement,
            )
            try:
                tree = self._supervisor.start(launch)
            except LaunchError as error:
                return _not_started(error)
            context = self._watched(turn.context, files.stdout)
            failed = supervise(tree, files, turn.config.command, context)
            if failed is not None and failed.code is not FailureCode.EXIT:
                return failed
            return self._judged(turn, files.stdout, failed)

    def _judged(
        self, turn: Turn, stdout: EngineFile, failed: Failed | None
    ) -> RunResult:
        command, interrupted = turn.config.command, turn.context.interrupted
        run = printed(
            stdout.content(command.max_output_bytes),
            exited_well=failed is None,
            side=turn.home.side_report(),
            interrupted=interrupted,
        )
        if (cut := interrupted()) is not None:
            return Failed(cut)
        result = judge(self._preset, run, command.strip, interrupted)
        if failed and isinstance(result, Failed) and result.code is failed.code:
            return replace(failed, detail=f"{failed.detail}; {_LOGIN_REMEDY}")
        return result

    def _watched(
        self, context: ExecutionContext, stdout: EngineFile
    ) -> ExecutionContext:
        """Return the context, which also ends an engine that waits without hope."""
        sign = self._preset.hopeless
        if not sign:
            return context
        seen = 0

        def interrupted() -> FailureCode | None:
            nonlocal seen
            if (cut := context.interrupted()) is not None:
                return cut
            size = stdout.size()
            if size == seen:
                return None
            seen = size
            is_hopeless = stdout.content(_HOPELESS_BYTES).count(sign) > 1
            return FailureCode.ENGINE_ERROR if is_hopeless else None

        return replace(context, interrupted=interrupted)


_LOGIN_REMEDY = "open-conduit doctor says whether a login is missing"
"""Most engines that end at once have none; what they print is not ours to tell."""

_HOPELESS_BYTES = 65_536
"""An engine that waits for its first connection has printed little."""


def arguments_of(preset: Preset, turn: Turn, again: tuple[str, ...]) -> tuple[str, ...]:
    """Return the argv of a round; nothing a person wrote is in it (C-SEC-02)."""
    config = turn.config
    model = preset.model if config.command.model is not None else ()
    ours = (*preset.arguments, *turn.bounds.arguments, *model, *preset.steps)
    return (
        config.program,
        *(turn.home.filled(word, config) for word in ours),
        *config.arguments,
        *again,
        *preset.last,
        *_picture_arguments(preset, turn.pictures),
    )


def _picture_arguments(preset: Preset, pictures: tuple[Path, ...]) -> list[str]:
    # C-IMG-29. Some engines take every word after the option as a picture, so
    # nothing may follow.
    flag = [preset.photos.flag] if preset.photos.flag else []
    return [
        word for path in pictures for word in (*flag, f"{preset.photos.prefix}{path}")
    ]


def _not_started(error: LaunchError) -> Failed:
    if error.reason == "folder":
        return Failed(FailureCode.RESOURCE_UNAVAILABLE, "the working folder is gone")
    return Failed(FailureCode.CANNOT_START, error.reason)


def _missing_files(config: PresetConfig) -> Iterator[Diagnostic]:
    """Yield a warning for each file of the operator that is not there now."""
    for place, path in config.home_files.items():
        if not os.access(path, os.R_OK):
            yield Diagnostic(
                pointer=("config", "home_files", place),
                code="file_not_found",
                message="the file is not there, or this user may not read it",
                remedy="make it, or name another; a relative path begins at the folder "
                "of the config",
                level=Level.WARNING,
            )


def _finder(preset: Preset) -> Callable[[Mapping[str, str]], Found | None]:
    def find(environment: Mapping[str, str]) -> Found | None:
        path = shutil.which(preset.program, path=environment.get("PATH"))
        if path is None:
            return None
        # The whole path: the service may be started with another PATH.
        program = Path(path).absolute()
        return Found(
            label=preset.label, program=program, config={"program": str(program)}
        )

    return find


def _adapt(config: ConfigObject, folder: Path) -> ConfigObject:
    """Let a binding of an included folder run in it (B-INCL-24)."""
    return {"cwd": str(folder), **config}


def preset_types(
    presets: tuple[Preset, ...],
    supervisor: Supervisor,
    environment: Mapping[str, str],
) -> tuple[ExecutorType, ...]:
    """Return the registrations of the presets."""
    types = []
    for preset in presets:
        executor = PresetExecutor(preset, supervisor, environment)
        types.append(
            ExecutorType(
                name=preset.name,
                spec=preset_spec(preset),
                executor=executor,
                check=executor.check,
                adapt=_adapt,
                find=_finder(preset),
            )
        )
    return tuple(types)

"""The executor ``command``: a program that reads a prompt and prints an answer."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from conduck_service.base.processes import (
    Confinement,
    Launch,
    LaunchError,
    Supervisor,
)
from conduck_service.domain.conversation import Conversation, ImagePart
from conduck_service.domain.execution import FailureCode
from conduck_service.domain.scope import Binding, Scope
from conduck_service.executors.answer_files import read_answer
from conduck_service.executors.argv import Placeholders, build_argv
from conduck_service.executors.command_settings import COMMAND_SPEC, CommandConfig
from conduck_service.executors.confinement.policy import (
    ConfinementError,
    confined_variables,
    confinement,
)
from conduck_service.executors.confinement.settings import check_confinement
from conduck_service.executors.environment import engine_environment
from conduck_service.executors.folders import adapted, check_folder
from conduck_service.executors.images import write_images
from conduck_service.executors.programs import check_program
from conduck_service.executors.results import read_result
from conduck_service.executors.streams import EngineFile
from conduck_service.executors.transcript import Prompt, build_prompt
from conduck_service.executors.watching import Files, supervise
from conduck_service.extension.executor import (
    Capabilities,
    ConfigObject,
    ExecutionContext,
    ExecutorType,
    Failed,
    RunResult,
)
from conduck_service.extension.spec import Decoding


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A turn that is ready to be launched."""

    argv: tuple[str, ...]
    prompt: Prompt
    answer_file: Path | None
    environment: Mapping[str, str] = field(repr=False)
    confinement: Confinement | None


class CommandExecutor:
    """Runs engines as supervised process trees.

    Args:
        supervisor: Starts and ends the trees.
        environment: The daemon's environment, of which engines see a safe part.
    """

    def __init__(self, supervisor: Supervisor, environment: Mapping[str, str]) -> None:
        self._supervisor = supervisor
        self._environment = environment

    def capabilities(self, config: CommandConfig) -> Capabilities:
        """Return what the engine can take."""
        return Capabilities(
            images=config.images.mode != "none",
            image_types=config.images.types,
            max_request_bytes=config.max_request_bytes,
            serialize=config.serialize,
        )

    def folder(self, config: CommandConfig) -> Path | None:
        """Return the configured cwd."""
        return config.cwd

    def check(self, binding: Binding, scope: Scope, into: Decoding) -> None:
        """Note what is wrong between a binding and its scope."""
        _check(binding, scope, into)
        check_program(binding, self._environment, into)

    def run(self, config: CommandConfig, context: ExecutionContext) -> RunResult:
        """Run one turn; when it returns, the whole tree is gone."""
        with ExitStack() as stack:
            try:
                prepared = self._prepare(config, context)
                files = _open_files(config, prepared, stack)
            except OSError:
                # C-IMG-06: an image that cannot be handed over is never left out.
                return Failed(FailureCode.RESOURCE_UNAVAILABLE, "no room for the turn")
            except ConfinementError:
                return Failed(FailureCode.CANNOT_START, "it cannot be confined")
            if config.prompt == "argument" and "\0" in prepared.prompt.text:
                # JSON can say it and no argv can hold it. To leave it out would
                # be to answer what nobody asked, and no shorter text would do.
                return Failed(FailureCode.CANNOT_START, "the prompt holds NUL")
            if (cut := context.interrupted()) is not None:
                # Preparing takes its time too, and may have stopped half-way.
                return Failed(cut)
            return self._run_prepared(config, context, prepared, files)

    def _prepare(self, config: CommandConfig, context: ExecutionContext) -> Prepared:
        conversation = context.conversation
        images = _forwarded(conversation, config)
        folder: Path | None = None
        if images:
            in_working_folder = config.images.dir == "working"
            folder = context.scratch(context.folder if in_working_folder else None)
        paths = write_images(images, folder, context.interrupted) if folder else {}
        prompt = build_prompt(
            conversation,
            paths,
            name_paths=config.images.mode == "file",
            carrier=config.empty_prompt == "carrier",
        )
        answer_file: Path | None = None
        if config.output.format == "file":
            answer_file = context.scratch(None) / "answer"
        placeholders = Placeholders(
            model=config.model, image_dir=folder, answer_file=answer_file
        )
        argv = build_argv(
            config,
            placeholders,
            tuple(paths.values()),
            is_transfer=conversation.names_folder,
        )
        environment, limits = self._surroundings(config, context, argv)
        return Prepared(
            argv=argv,
            prompt=prompt,
            answer_file=answer_file,
            environment=environment,
            confinement=limits,
        )

    def _surroundings(
        self, config: CommandConfig, context: ExecutionContext, argv: tuple[str, ...]
    ) -> tuple[dict[str, str], Confinement | None]:
        """Return the engine's environment, and the files it is confined to."""
        environment = self._engine_environment(config, context)
        if config.confine == "off":
            return environment, None
        wanted, scratch = config.confinement, context.scratch(None)
        limits = confinement(
            wanted,
            argv=argv,
            environment=environment,
            home=self._environment.get("HOME"),
            folders=(context.folder, scratch),
        )
        if limits is not None:
            own = confined_variables(scratch, wanted, environment)
            environment |= {
                name: value
                for name, value in own.items()
                if name not in config.env and name not in config.secret_env
            }
        return environment, limits

    def _run_prepared(
        self,
        config: CommandConfig,
        context: ExecutionContext,
        prepared: Prepared,
        files: Files,
    ) -> RunResult:
        launch = Launch(
            argv=_with_prompt(config, prepared),
            environment=prepared.environment,
            folder=context.folder,
            umask=config.umask,
            stdin=files.stdin.fileno(),
            stdout=files.stdout.fileno(),
            stderr=files.stderr.fileno(),
            marker=context.marker,
            confinement=prepared.confinement,
        )
        try:
            tree = self._supervisor.start(launch)
        except LaunchError as error:
            return _not_started(error)
        return supervise(tree, files, config, context) or _read(config, files, context)

    def _engine_environment(
        self, config: CommandConfig, context: ExecutionContext
    ) -> dict[str, str]:
        secret_env = {
            variable: context.secrets[name]
            for variable, name in config.secret_env.items()
        }
        return engine_environment(
            self._environment, context.host_env, config.env, secret_env
        )


def _open_files(config: CommandConfig, prepared: Prepared, stack: ExitStack) -> Files:
    stdin = prepared.prompt.text if config.prompt == "stdin" else ""
    return Files(
        stdin=stack.enter_context(EngineFile.holding(stdin)),
        stdout=stack.enter_context(EngineFile.empty()),
        stderr=stack.enter_context(EngineFile.empty()),
        answer_file=prepared.answer_file,
    )


def _with_prompt(config: CommandConfig, prepared: Prepared) -> tuple[str, ...]:
    """Return the argv; a prompt in it comes after ``--`` (C-SEC-03)."""
    if config.prompt == "stdin":
        return prepared.argv
    return (*prepared.argv, "--", prepared.prompt.text)


def _forwarded(
    conversation: Conversation, config: CommandConfig
) -> tuple[ImagePart, ...]:
    if config.images.mode == "none":
        return ()
    newest = conversation.newest.images
    if config.history_images == "disclose":
        return newest
    earlier = [
        image
        for message in conversation.earlier
        for image in message.images
        if image.is_usable and _is_taken(image, config)
    ]
    return (*earlier, *newest)


def _is_taken(image: ImagePart, config: CommandConfig) -> bool:
    return not config.images.types or image.media_type in config.images.types


def _not_started(error: LaunchError) -> Failed:
    if error.reason == "too_long":
        return Failed(FailureCode.CONTEXT_TOO_LONG, "the prompt does not fit in argv")
    if error.reason == "folder":
        return Failed(FailureCode.RESOURCE_UNAVAILABLE, "the working folder is gone")
    return Failed(FailureCode.CANNOT_START, error.reason)


def _read(config: CommandConfig, files: Files, context: ExecutionContext) -> RunResult:
    limit = config.max_output_bytes + 1
    try:
        if files.answer_file is not None:
            data = read_answer(files.answer_file, limit)
        else:
            data = files.stdout.content(limit)
    except OSError:
        return Failed(FailureCode.NO_ANSWER, "the answer cannot be read")
    if len(data) == limit:
        return Failed(FailureCode.OUTPUT_LIMIT)
    return read_result(data, config.output, config.strip, context.interrupted)


def _check(binding: Binding, scope: Scope, into: Decoding) -> None:
    config: CommandConfig = binding.config
    for variable, name in config.secret_env.items():
        if name not in binding.secret_names:
            into.refuse(
                ("config", "secret_env", variable),
                "unknown_reference",
                "the secret is none of the binding's secret_names",
                "add it to secret_names",
            )
    check_confinement(
        config.confine,
        (config.confine_read, config.confine_write),
        config.cwd,
        into,
    )
    check_folder(binding, scope, into)


def _adapt(config: ConfigObject, folder: Path) -> ConfigObject:
    """Let a binding of an included folder run in it (B-INCL-24).

    What it names by relative paths is there too, wherever the adapted config is
    kept later.
    """
    return adapted(config, folder, lists=("argv",))


def command_type(executor: CommandExecutor) -> ExecutorType:
    """Return the registration of the executor."""
    return ExecutorType(
        name="command",
        spec=COMMAND_SPEC,
        executor=executor,
        check=executor.check,
        adapt=_adapt,
    )

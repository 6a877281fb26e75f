"""``open-conduit serve``: the daemon in the foreground."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from conduck_service.base import logs
from conduck_service.base.memory import give_back_large_blocks
from conduck_service.base.notify import ServiceManager
from conduck_service.base.processes import start_supervisor
from conduck_service.base.redaction import Redactor
from conduck_service.base.safefiles import LockHeldError, SafeFileError
from conduck_service.cli.loading import (
    load,
    print_problems,
    process_environment,
    starting_folder,
)
from conduck_service.cli.main import EXIT_HOPELESS, EXIT_REFUSED
from conduck_service.config.paths import PathError, config_path, state_dir
from conduck_service.daemon.daemon import Daemon, Paths
from conduck_service.daemon.registry import build_registry
from conduck_service.extension.ingress import HopelessStartError, StartError
from conduck_service.runtime.state import owned_state
from conduck_service.service.names import is_job_of_launchd

OnReady = Callable[[Sequence[str]], None]

LEVELS = ("debug", "info", "warning", "error")
"""Least levels of a log line; none of them lets any content through."""


@click.command("serve")
@click.option(
    "--config", "config", type=click.Path(readable=False), help="The config file."
)
@click.option(
    "--data-dir",
    "data_dir",
    type=click.Path(readable=False),
    help="The state directory.",
)
@click.option(
    "--log-level",
    "level",
    type=click.Choice(LEVELS),
    default="info",
    show_default=True,
    help="Least level of the lines on standard error; no level shows any content.",
)
def command(config: str | None, data_dir: str | None, level: str) -> None:
    """Serve what the config file describes, until SIGTERM or Ctrl-C.

    Running turns get 10 seconds to end; a second signal ends their grace at once. The
    end of the terminal (SIGHUP) counts as a signal too, except under nohup.
    """
    environment = process_environment()
    try:
        path = config_path(config, environment, starting_folder())
        state = state_dir(data_dir, environment, starting_folder())
    except PathError as error:
        give_up(str(error))
    serve(path, state, level=logging.getLevelNamesMapping()[level.upper()])


def serve(
    path: Path,
    state: Path,
    *,
    level: int = logging.INFO,
    state_option: str = "--data-dir",
    on_ready: OnReady = lambda _addresses: None,
) -> None:
    """Serve a config file until a signal comes; ends the process on failure.

    Args:
        path: The config file.
        state: The state directory.
        level: Least level of log lines.
        state_option: The option of this command that names another state.
        on_ready: Called once when requests are accepted, with the addresses.
    """
    manager = ServiceManager.take(os.environ)
    try:
        with owned_state(state) as instance:
            daemon = _build(path, state, instance, level)
            _run(daemon, on_ready, manager)
    except LockHeldError as error:
        remedy = f"stop that process, or choose another folder with {state_option}"
        _fail(manager, f"{error.path}: {error.reason}; {remedy}", EXIT_HOPELESS)
    except (SafeFileError, HopelessStartError) as error:
        _fail(manager, str(error), EXIT_HOPELESS)
    except StartError as error:
        _fail(manager, str(error), EXIT_REFUSED)


def _build(path: Path, state: Path, instance: str, level: int) -> Daemon:
    environment = process_environment()
    redactor = Redactor()
    give_back_large_blocks()
    logs.set_up(redactor, level)
    logs.catch_uncaught()
    # Before any thread: the keeper of engines is started from a quiet process.
    supervisor = start_supervisor(instance)
    registry = build_registry(environment, supervisor)
    loaded = load(path, registry, environment, state)
    print_problems(path, loaded.problems)
    if loaded.document is None:
        supervisor.close()
        name = click.format_filename(path)
        raise HopelessStartError(f"{name}: the config cannot be used")
    return Daemon(
        loaded.document,
        paths=Paths(config=path.parent, state=state),
        instance=instance,
        environment=environment,
        redactor=redactor,
        registry=loaded.registry,
        supervisor=supervisor,
    )


def _run(daemon: Daemon, on_ready: OnReady, manager: ServiceManager) -> None:
    arrivals = _listen_for_signals()
    daemon.start()
    manager.tell_ready(f"serving at {' '.join(daemon.addresses)}")
    manager.watch(daemon.is_well)
    on_ready(daemon.addresses)
    os.read(arrivals, 1)
    manager.tell_stopping("running turns come to their end")
    daemon.begin_stop()
    threading.Thread(target=_hurry, args=(arrivals, daemon), daemon=True).start()
    daemon.finish_stop()


def _listen_for_signals() -> int:
    """Return a descriptor on which a byte arrives for each signal to stop.

    The bytes come from the system's own handler, in whichever thread that runs.
    A handler in Python would run in the main thread only once that wakes up, which
    the second of two quick signals can prevent, and must not touch a lock there.
    """
    arrivals, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, _do_nothing)
    signal.signal(signal.SIGINT, _do_nothing)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
        signal.signal(signal.SIGHUP, _do_nothing)
    return arrivals


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Stand where a handler must, so that the signal is told and ends nothing."""


def _hurry(arrivals: int, daemon: Daemon) -> None:
    os.read(arrivals, 1)
    daemon.hurry_stop()


def _fail(manager: ServiceManager, message: str, status: int) -> NoReturn:
    """End with a status, and the reason where ``systemctl status`` shows it too."""
    manager.tell_status(message)
    _end(message, status)


def give_up(message: str) -> NoReturn:
    """End with the status that tells a supervisor not to try again."""
    _end(message, EXIT_HOPELESS)


def _end(message: str, status: int) -> NoReturn:
    click.echo(f"open-conduit: {message}", err=True)
    if status == EXIT_HOPELESS and is_job_of_launchd(process_environment()):
        # launchd knows no status that means "not again", and has no limit.
        status = 0
    sys.exit(status)

"""``open-conduit init``: from nothing to a config that works."""

from __future__ import annotations

import grp
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from conduck_service.base.jsonio import JsonValue
from conduck_service.cli.config.editing import checker
from conduck_service.cli.config.reading import give_up
from conduck_service.cli.init.document import Plan
from conduck_service.cli.init.engine import Engine, engine_of, find_engines
from conduck_service.cli.init.ports import CHAT_PORT, FILES_PORT, choose_ports
from conduck_service.cli.init.setup import SetupError, refuse_what_is_there, set_up
from conduck_service.cli.init.shared import SharedFolder, shared_folder
from conduck_service.cli.init.words import say_what_next
from conduck_service.cli.loading import load, print_problems, starting_folder
from conduck_service.cli.options import (
    Places,
    config_option,
    data_dir_option,
    json_option,
    places,
)
from conduck_service.cli.output import print_json, refuse
from conduck_service.config.edit import EditRefusedError
from conduck_service.config.packages import with_packages
from conduck_service.daemon.registry import build_registry
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import Decoding
from conduck_service.files.settings import FilesConfig
from conduck_service.files.upkeep.folder import find_faults

FOLDER = "~/Conduck"

PORT = click.IntRange(1, 65535)


@click.command("init")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--engine",
    metavar="PROGRAM",
    help="The program that answers: a path, or a name on PATH; or the name of an "
    "engine that --scan shows. What stands after -- are its arguments.",
)
@click.option("--yes", is_flag=True, help="Ask nothing; take what is proposed.")
@click.option("--scan", is_flag=True, help="Only show which engines are found.")
@click.option(
    "--folder",
    metavar="DIR",
    help=f"The folder that engines work in and the app sees; {FOLDER} by default, or "
    "the machine's shared one, for those who share it.",
)
@click.option(
    "--shared-group",
    "group",
    metavar="GROUP",
    help="A group whose users share that folder; otherwise it is this user's alone.",
)
@click.option("--chat-port", type=PORT, help=f"{CHAT_PORT} if it is free.")
@click.option("--files-port", type=PORT, help=f"{FILES_PORT} if it is free.")
@click.option(
    "--package",
    "packages",
    multiple=True,
    metavar="NAME",
    help="An installed package with more engines; can be given more than once.",
)
@config_option
@data_dir_option
@json_option
def command(
    *,
    arguments: tuple[str, ...],
    engine: str | None,
    yes: bool,
    scan: bool,
    folder: str | None,
    group: str | None,
    chat_port: int | None,
    files_port: int | None,
    packages: tuple[str, ...],
    config: str | None,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Make a config, a token, a password and a folder, and say how to go on.

    The engine gets the prompt on standard input and prints its answer. Nothing that
    is there already is changed.
    """
    where = places(config, data_dir)
    registry = _registry(where, packages)
    engines = find_engines(registry, where.environment)
    if scan:
        _show(engines, as_json)
        return
    _refuse_root()
    try:
        refuse_what_is_there(where.config, where.environment)
    except SetupError as error:
        refuse(str(error))
    group_id = None if group is None else _group(group)
    there = shared_folder(where.environment, group_id)
    ports = choose_ports(chat_port, files_port)
    chosen = _choose_engine(engine, arguments, engines, where, yes)
    place = _choose_folder(folder, yes, there)
    plan = Plan(
        engine=chosen,
        folder=place,
        group=there.group if there and there.path == place else group_id,
        chat_port=ports[0],
        files_port=ports[1],
        packages=packages,
    )
    _set_up(plan, where)


def _registry(where: Places, packages: tuple[str, ...]) -> Registry:
    """Return the registered types, with those of the packages that were named."""
    named: JsonValue = {"settings": {"extensions": {name: {} for name in packages}}}
    into = Decoding(base=where.config.parent)
    registry = with_packages(named, build_registry(where.environment), into)
    for problem in into.problems:
        refuse(f"--package {problem.pointer[-1]}: {problem.message}; {problem.remedy}")
    return registry


def _show(engines: list[Engine], as_json: bool) -> None:
    rows = [
        (engine.executor, engine.label, os.fsdecode(engine.program))
        for engine in engines
    ]
    if as_json:
        keys = ("executor", "label", "program")
        print_json({"engines": [dict(zip(keys, row, strict=True)) for row in rows]})
        return
    if not engines:
        click.echo(
            "No engine was found that this version knows. Any program that reads a "
            "prompt on standard input\nand prints its answer can be one: name it with "
            "--engine PROGRAM."
        )
        return
    console = Console()
    if not console.is_terminal:
        for row in rows:
            click.echo("\t".join(row))
        return
    table = Table("engine", "what it is", "program")
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)


def _refuse_root() -> None:
    if os.geteuid() == 0:
        refuse(
            "init is not for root: engines would run as root; run it as the user who "
            "has the engine's login (and let the system's service run as that user: "
            "open-conduit service run-as NAME), or for the user that the package made, "
            "with sudo -u conduck -H open-conduit init"
        )


def _group(name: str) -> int:
    try:
        found = grp.getgrgid(int(name)) if name.isdecimal() else grp.getgrnam(name)
    except (KeyError, OverflowError):
        refuse("--shared-group: there is no such group; groupadd makes one")
    if found.gr_gid not in {os.getegid(), *os.getgroups()}:
        refuse(
            "--shared-group: this user is not in that group; add it (usermod -aG GROUP "
            "USER) and log in anew"
        )
    return found.gr_gid


def _choose_engine(
    named: str | None,
    arguments: tuple[str, ...],
    engines: list[Engine],
    where: Places,
    yes: bool,
) -> Engine:
    if named is None and arguments:
        raise click.UsageError("arguments for the engine need --engine PROGRAM")
    if named is not None:
        return _engine((named, *arguments), engines, where)
    if yes and len(engines) == 1:
        return engines[0]
    if yes:
        found = ", ".join(engine.executor for engine in engines) or "none was found"
        raise click.UsageError(f"name the engine with --engine ({found})")
    if engines:
        click.echo("Engines that were found:")
        for engine in engines:
            click.echo(f"  {engine.executor}: {engine.label} ({engine.program})")
    answer: Engine = _asked(
        "Engine that answers (a name from above, or a program)"
        if engines
        else "Program that answers (it reads the prompt on standard input)",
        default=engines[0].executor if engines else None,
        value_proc=lambda text: _engine(_words(text), engines, where),
    )
    return answer


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text)) or ("",)
    except ValueError:
        raise click.UsageError("a quote is not closed") from None


def _engine(argv: tuple[str, ...], engines: list[Engine], where: Places) -> Engine:
    for engine in engines:
        # The name of a program that is known stands for its preset, which is confined.
        if argv in ((engine.executor,), (engine.program.name,)):
            return engine
        if argv[0] == engine.executor and engine.is_preset:
            return engine.with_arguments(argv[1:])
    return engine_of(argv, starting_folder(), where.environment)


def _choose_folder(named: str | None, yes: bool, there: SharedFolder | None) -> Path:
    usual = str(there.path) if there else FOLDER
    if named is None and not yes:
        named = _asked("Folder that it works in, shared with the app", usual)
    folder = Path(named or usual)
    try:
        folder = folder.expanduser()
    except RuntimeError:
        refuse("the home folder of ~ is not known; set HOME, or write the whole path")
    return Path(os.path.normpath(starting_folder() / folder))


def _asked(question: str, default: str | None, **options: Any) -> Any:
    """Return what a person answers, or what stands on standard input in their place."""
    try:
        return click.prompt(question, default, **options)
    except click.Abort as error:
        if sys.stdin.isatty() or not isinstance(error.__context__, EOFError):
            raise
        click.echo()  # the question stands there without an end
        refuse(
            "there is no terminal to ask on; add --yes, or --folder DIR and "
            "--engine PROGRAM"
        )


def _set_up(plan: Plan, where: Places) -> None:
    try:
        done = set_up(plan, where.config, where.environment, checker(where))
    except EditRefusedError as error:
        give_up(where.config, [error.problem])
    except SetupError as error:
        if error.problems:
            print_problems(where.config, error.problems)
        refuse(f"{error}; nothing was made")
    print_problems(where.config, done.problems)
    _warn_of_the_folder(plan, where)
    say_what_next(plan, where, done)


def _warn_of_the_folder(plan: Plan, where: Places) -> None:
    """Say what is wrong with a folder that was there already."""
    registry = build_registry(where.environment)
    document = load(where.config, registry, where.environment, where.state).document
    for scope in document.scopes if document else ():
        for entry in scope.extensions:
            if isinstance(entry.config, FilesConfig):
                for fault in find_faults(plan.folder, entry.config):
                    click.echo(
                        f"{click.format_filename(plan.folder)}: warning: "
                        f"{fault.message}; {fault.remedy}",
                        err=True,
                    )

"""``open-conduit secret``: store values that a config only refers to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click

from conduck_service.base.diagnostics import has_errors, suggest
from conduck_service.base.ids import is_name
from conduck_service.base.jsonio import JsonValue
from conduck_service.base.safefiles import (
    LockHeldError,
    SafeFileError,
    make_private_dir,
)
from conduck_service.cli.config.editing import checker
from conduck_service.cli.loading import print_problems
from conduck_service.cli.options import (
    Places,
    config_option,
    data_dir_option,
    json_option,
    places,
)
from conduck_service.cli.output import print_json, refuse
from conduck_service.cli.secret.value import ValueRefusedError, read_value
from conduck_service.config.edit import Edit, EditRefusedError
from conduck_service.domain.reference import Scheme
from conduck_service.secrets.file import FILE_NAME
from conduck_service.secrets.keep import Kept, keep, renew_in_file
from conduck_service.secrets.references import (
    add_reference,
    count,
    other_scheme,
    point_to,
    scope_ids,
    scope_of,
)
from conduck_service.secrets.revision import prepare_revision, raise_revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What is known before a value is stored.

    Attributes:
        state: The state directory.
        has_file_reference: Whether the config refers to the value in the file.
        has_keyring_reference: Whether it refers to the one in the keyring.
    """

    state: Path
    has_file_reference: bool = False
    has_keyring_reference: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointed:
    """What a config refers to after it was changed.

    Attributes:
        total: References to the place where the value lies now.
        moved: Those of them that led to another place before.
        is_added: Whether one was written into the scope that was asked for.
    """

    total: int = 0
    moved: int = 0
    is_added: bool = False


@click.group("secret")
def command() -> None:
    """Store what the config refers to: tokens, passwords and keys."""


@command.command("set")
@click.argument("name")
@click.option("--scope", help="Also declare NAME in this scope of the config.")
@config_option
@data_dir_option
@json_option
def set_secret(
    name: str,
    scope: str | None,
    config: str | None,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Store the value of NAME, typed here or piped in.

    It goes into the system's keyring, or else into secrets.json beside the config,
    which only you can read. References to keyring:NAME and file:NAME in the config
    are made to lead there. A running service asks for the value anew at once.
    """
    if not is_name(name):
        raise click.BadParameter(
            "write 1 to 63 of a-z, 0-9, _ and -, a letter first", param_hint="NAME"
        )
    where = places(config, data_dir)
    prepared = _prepared(name, where, scope)
    try:
        value = read_value(name)
    except ValueRefusedError as error:
        refuse(f"nothing was stored: {error}")
    kept, is_in_both = _stored(name, value, where, prepared)
    pointed = _pointed(name, scope, where, kept) if _exists(where.config) else Pointed()
    if as_json:
        print_json(
            {
                "name": name,
                "reference": kept.reference,
                "file": None if kept.file is None else str(kept.file),
                "references": pointed.total,
                "moved": pointed.moved,
                "also_in_file": is_in_both,
            }
        )
        return
    _tell(name, scope, kept, pointed)
    if is_in_both:
        click.echo(
            f"{FILE_NAME} has the new value too, for whatever still refers to "
            f"file:{name}; take it out there when nothing does"
        )
    if kept.file and prepared.has_keyring_reference:
        click.echo("until then it goes by what the keyring holds, if it can be asked")


def _prepared(name: str, where: Places, scope: str | None) -> Prepared:
    """Refuse what can be refused before anything is stored."""
    if where.state is None:
        refuse("HOME is not set to an absolute path; set it, or use --data-dir")
    try:
        make_private_dir(where.config.parent)
        prepare_revision(where.state)
    except SafeFileError as error:
        refuse(f"nothing was stored: {error}")
    if not _exists(where.config):
        if scope is not None:
            _refuse_config(where, "there is no config; make one (open-conduit init)")
        return Prepared(state=where.state)
    try:
        with Edit.open(where.config) as edit:
            document = edit.value
    except EditRefusedError as error:
        print_problems(where.config, [error.problem])
        refuse("nothing was stored")
    if scope is not None:
        _check_scope(name, scope, document, where)
    return Prepared(
        state=where.state,
        has_file_reference=count(document, f"{Scheme.FILE}:{name}") > 0,
        has_keyring_reference=count(document, f"{Scheme.KEYRING}:{name}") > 0,
    )


def _check_scope(name: str, scope: str, document: JsonValue, where: Places) -> None:
    found = scope_of(document, scope)
    if found is None:
        known = scope_ids(document)
        _refuse_config(where, f"it has no scope of that id; {suggest(scope, known)}")
    if scheme := other_scheme(found, name):
        _refuse_config(
            where,
            f"scope {scope} has a secret {name} already, which leads to {scheme}:…; "
            f"take that out first (config unset scopes/{scope}/secret_refs/{name})",
        )


def _stored(
    name: str, value: str, where: Places, prepared: Prepared
) -> tuple[Kept, bool]:
    """Store the value; return where, and whether the file has it beside the keyring.

    Each place that is referred to gets it, as a running service still goes by the
    references of its start (B-SECRET-45, B-SECRET-54).
    """
    try:
        kept = keep(
            name, value, folder=where.config.parent, environment=where.environment
        )
    except (SafeFileError, LockHeldError) as error:
        refuse(f"nothing was stored: {error.path}: {error.reason}; {error.remedy}")
    is_in_both = False
    if kept.file is None:
        is_in_both = _renewed_in_file(name, value, where, prepared)
    try:
        raise_revision(prepared.state)
    except SafeFileError as error:
        refuse(
            f"{name} is stored as {kept.reference}, but a running service cannot be "
            f"told: {error}; then restart the service"
        )
    return kept, is_in_both


def _renewed_in_file(name: str, value: str, where: Places, prepared: Prepared) -> bool:
    try:
        return renew_in_file(
            name,
            value,
            where.config.parent,
            is_asked_for=prepared.has_file_reference,
        )
    except (SafeFileError, LockHeldError) as error:
        click.echo(
            f"open-conduit: an older value may be left in {FILE_NAME}: {error}; "
            "restart the service",
            err=True,
        )
        return False


def _pointed(name: str, scope: str | None, where: Places, kept: Kept) -> Pointed:
    """Let the config refer to where the value lies (B-CLI-12, B-SECRET-44)."""
    moved = 0
    try:
        with Edit.open(where.config) as edit:
            moved = point_to(edit.value, name, kept.reference)
            target = None if scope is None else scope_of(edit.value, scope)
            if target is not None:
                add_reference(target, name, kept.reference)
            is_added = target is not None and edit.is_changed
            total = count(edit.value, kept.reference)
            problems = edit.save(checker(where)) if edit.is_changed else []
    except EditRefusedError as error:
        problems, total = [error.problem], 0
    print_problems(where.config, problems)
    if has_errors(problems):
        refuse(
            f"{name} is stored as {kept.reference}, but the config was left as it is; "
            "mend it, and let it refer to that"
        )
    return Pointed(total=total, moved=moved, is_added=is_added)


def _tell(name: str, scope: str | None, kept: Kept, pointed: Pointed) -> None:
    if kept.file is None:
        click.echo(f"{name}: stored in the keyring")
    else:
        file = click.format_filename(kept.file)
        click.echo(f"{name}: stored in {file}, which only you can read")
        click.echo(f"no keyring took it: {kept.why_file}")
    if pointed.is_added:
        click.echo(f"scope {scope} now has the secret {name}")
    if pointed.moved:
        number = "a reference" if pointed.moved == 1 else f"{pointed.moved} references"
        click.echo(f"the config was changed: {number} to {kept.reference}")
    if pointed.moved or pointed.is_added:
        click.echo("restart the service, so that it reads the config again")
    elif pointed.total:
        click.echo("the config refers to it; a running service uses it from now on")
    else:
        click.echo(f'to use it, write "{kept.reference}" into secret_refs')


def _refuse_config(where: Places, reason: str) -> NoReturn:
    refuse(f"{click.format_filename(where.config)}: {reason}; nothing was stored")


def _exists(path: Path) -> bool:
    return os.path.lexists(path)

"""``open-conduit selftest``: our own conformance run against the running service."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence

import click

from conduck_service import __version__
from conduck_service.base.jsonio import JsonValue
from conduck_service.cli.options import (
    config_option,
    data_dir_option,
    json_option,
    places,
)
from conduck_service.cli.output import EXIT_REFUSED, print_json, refuse
from conduck_service.cli.progress import progress, safe
from conduck_service.doctor.context import DoctorContext, NotMadeError
from conduck_service.doctor.opening import open_context
from conduck_service.selftest.case import Result, SkippedError, Subject, Verdict
from conduck_service.selftest.run import Profile, run_cases, subjects

REVISION = "1.10"
"""Revision of the contract that the cases follow."""

_COLOURS = {Verdict.PASS: "green", Verdict.FAIL: "red", Verdict.SKIPPED: "yellow"}


@click.command("selftest")
@click.option("--deep", is_flag=True, help="Send pictures and large requests too.")
@click.option("--files", is_flag=True, help="Put the file lane to the test too.")
@config_option
@data_dir_option
@json_option
def command(
    deep: bool, files: bool, config: str | None, data_dir: str | None, as_json: bool
) -> None:
    """Put the running service to the test, as the app sees it.

    Real turns are asked for, so engines work and tokens may be used. Nothing that is
    asked or answered is shown. The status is 1 when a case fails.
    """
    where = places(config, data_dir)
    context = open_context(
        where.config, where.state, where.environment, may_resolve=True
    )
    profile = Profile(deep=deep, files=files)
    try:
        tested = _subjects(context, profile)
    except SkippedError as error:
        if as_json:
            print_json(_report([], profile, context.redactor.clean, str(error)))
        refuse(str(error))
    results: list[Result] = []
    with progress(is_quiet=as_json) as begin:
        for result in run_cases(tested, profile, begin):
            results.append(result)
            if not as_json:
                _print(result, context.redactor.clean)
    if as_json:
        print_json(_report(results, profile, context.redactor.clean))
    else:
        click.echo(_summary(results, profile))
    if any(result.verdict is Verdict.FAIL for result in results):
        sys.exit(EXIT_REFUSED)


def _subjects(context: DoctorContext, profile: Profile) -> list[Subject]:
    """Return what is put to the test.

    Raises:
        SkippedError: There is nothing; the text says why.
    """
    if context.document is None:
        raise SkippedError("the config cannot be used; open-conduit doctor says why")
    if context.service is None:
        raise SkippedError("the service does not run; start it, or name its --data-dir")
    try:
        tested = subjects(context, profile)
    except NotMadeError as error:
        words = f"{error}; open-conduit doctor --check-secrets says more"
        raise SkippedError(words) from None
    if not tested:
        raise SkippedError("the config has no chat listener")
    if profile.files and not any(subject.files for subject in tested):
        words = "the config has no file lane; leave --files out, or add one"
        raise SkippedError(words)
    return tested


def _print(result: Result, redacted: Callable[[str], str]) -> None:
    word = click.style(f"{result.verdict.value:7}", fg=_COLOURS[result.verdict])
    click.echo(f"{word} {safe(result.subject)} {result.case.name}: {result.case.means}")
    if result.detail:
        click.echo(f"          {safe(redacted(result.detail))}")
    if result.verdict is Verdict.FAIL:
        click.echo(f"          → {result.remedy}")


def _counts(results: Sequence[Result]) -> Counter[Verdict]:
    return Counter(result.verdict for result in results)


def _summary(results: Sequence[Result], profile: Profile) -> str:
    """Return the last line, which programs can read as well."""
    counts = _counts(results)
    failed = counts[Verdict.FAIL]
    return (
        f"OPEN_CONDUIT_SELFTEST schema=1 contract=v1 revision={REVISION} "
        f"version={__version__} profile={profile.name} cases={len(results)} "
        f"passed={counts[Verdict.PASS]} skipped={counts[Verdict.SKIPPED]} "
        f"failed={failed} exit={EXIT_REFUSED if failed else 0}"
    )


def _report(
    results: Sequence[Result],
    profile: Profile,
    redacted: Callable[[str], str],
    refusal: str = "",
) -> dict[str, JsonValue]:
    counts = _counts(results)
    rows: list[JsonValue] = [
        {
            "case": result.case.name,
            "subject": result.subject,
            "verdict": result.verdict.value,
            "means": result.case.means,
            "detail": redacted(result.detail),
            "remedy": result.remedy,
        }
        for result in results
    ]
    return {
        "ok": not counts[Verdict.FAIL] and not refusal,
        "refusal": redacted(refusal),
        "schema": 1,
        "contract": "v1",
        "revision": REVISION,
        "version": __version__,
        "profile": profile.name,
        "counts": {verdict.value: counts[verdict] for verdict in Verdict},
        "cases": rows,
    }

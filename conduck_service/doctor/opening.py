"""Gathers what checks may know, without running or resolving anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from conduck_service.base.diagnostics import Diagnostic
from conduck_service.base.redaction import Redactor
from conduck_service.config.check import Checked, check_document
from conduck_service.config.load import read
from conduck_service.daemon.registry import build_registry
from conduck_service.doctor.context import DoctorContext, Public
from conduck_service.doctor.service import find_service


def open_context(
    config: Path,
    state: Path | None,
    environment: Mapping[str, str],
    *,
    may_resolve: bool = False,
    may_turn: bool = False,
    public: Public = Public(),  # noqa: B008 - it is frozen
) -> DoctorContext:
    """Return the context for a config file and a state directory.

    The variables of the running service replace those of this process, since a
    supervisor gives it others than a shell does.

    Args:
        config: The config file, which need not exist.
        state: The state directory, if one is known.
        environment: The variables of this process.
        may_resolve: Whether secrets may be asked for.
        may_turn: Whether engines may be asked for answers.
        public: Addresses at which the app reaches them.
    """
    service = find_service(state)
    if service is not None and service.environment is not None:
        environment = service.environment
    registry = build_registry(environment)
    text = read(config)
    if isinstance(text, Diagnostic):
        checked = Checked(document=None, problems=[text], registry=registry)
    else:
        checked = check_document(
            text,
            base=config.parent,
            registry=registry,
            environment=environment,
            state_dir=state,
        )
    return DoctorContext(
        config=config,
        state=state,
        environment=environment,
        service=service,
        document=checked.document,
        problems=checked.problems,
        registry=checked.registry,
        redactor=Redactor(),
        may_resolve=may_resolve or may_turn,
        may_turn=may_turn,
        public=public,
    )

"""Everything that is said about a config document, in one fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conduck_service.base.diagnostics import (
    Diagnostic,
    Level,
    Pointer,
    has_errors,
    in_order,
)
from conduck_service.base.jsonio import JsonError, JsonValue, parse
from conduck_service.config.authority import (
    Known,
    check_authority,
    settle_ceilings,
)
from conduck_service.config.candidate import candidate_hash, normal_form
from conduck_service.config.capabilities import check_binding, check_routes
from conduck_service.config.commands import check_commands
from conduck_service.config.declared import Composed, Declared, Table, entries, word
from conduck_service.config.decode import decode_connections, decode_scope
from conduck_service.config.document import DOCUMENT
from conduck_service.config.effect import Forms, scope_in_effect
from conduck_service.config.folder import FolderRules
from conduck_service.config.includes import compose
from conduck_service.config.inherit import Effective, inherit
from conduck_service.config.lanes import settle_folders
from conduck_service.config.limits import check_budgets, check_limits
from conduck_service.config.owners import check_owners, guarded
from conduck_service.config.packages import with_packages
from conduck_service.config.references import check_names, check_references
from conduck_service.config.sources import check_sources
from conduck_service.config.syntax import explained
from conduck_service.config.variables import check_variables
from conduck_service.domain.scope import (
    Binding,
    Connection,
    Document,
    Scope,
    Settings,
)
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import Decoding, Mark

_MALFORMED = ("invalid_identifier", "invalid_config")
_NOT_THERE = ("unknown_reference", "unregistered")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the check of a document has found out.

    Attributes:
        document: What the daemon is built from; None if there is an error.
        problems: Every diagnostic, by pointer and code.
        registry: The types that the document may use, those of the packages that
            it names included.
        normal: The composed document with every default in it, as JSON; None if
            there is an error.
    """

    document: Document | None
    problems: list[Diagnostic]
    registry: Registry
    normal: JsonValue = field(default=None, repr=False)

    @property
    def hash(self) -> str:
        """The hash of the candidate; empty if there is none."""
        return candidate_hash(self.normal) if self.document else ""


def check_document(
    text: str,
    *,
    base: Path,
    registry: Registry,
    environment: Mapping[str, str],
    state_dir: Path | None,
) -> Checked:
    """Return the document of a text and what is wrong with it.

    Nothing is run, resolved or asked over the network. All independent faults
    are found at once; owners check the entries of those scopes only that have
    no fault otherwise, since they would take one for many.

    Args:
        text: The config.
        base: The config directory, absolute.
        registry: The types that the document may use; packages that it names are
            added.
        environment: Variables of the daemon.
        state_dir: The state directory, if one is known.

    Keeps: B-DIAG-12, B-DIAG-13, B-DIAG-14, B-VALID-04.
    """
    try:
        value = parse(text)
    except JsonError as error:
        found = [explained(text, error)]
        return Checked(document=None, problems=found, registry=registry)
    private = (base,) if state_dir is None else (base, state_dir)
    into = Decoding(base=base, private=private)
    # Strict shape and defaults first; then folders and packages, which bring in
    # what the rest is about.
    settings = DOCUMENT.decode(value, (), into)
    registry = with_packages(value, registry, into)
    composed = compose(value, base, into)
    check = _Check(value, composed, registry, into)
    document = check.run(settings, FolderRules(environment, private))
    normal = None
    if not has_errors(into.problems):
        with guarded((), into):
            normal = check.normal()
    problems = in_order(_independent(into.problems))
    is_good = not has_errors(problems)
    return Checked(
        document=document if is_good else None,
        problems=problems,
        registry=registry,
        normal=normal if is_good else None,
    )


class _Check:
    """One pass over a composed document."""

    def __init__(
        self,
        value: JsonValue,
        composed: list[Composed],
        registry: Registry,
        into: Decoding,
    ) -> None:
        self._value = value
        self._composed = composed
        self._registry = registry
        self._into = into
        self._declared: list[Declared] = []

    def run(self, settings: Settings | Mark, rules: FolderRules) -> Document | None:
        """Note every fault, stage by stage; return the document if it has none."""
        into, registry = self._into, self._registry
        check_names(self._value, self._composed, into)
        connections = decode_connections(self._value, registry, into)
        self._declared = [decode_scope(item, registry, into) for item in self._composed]
        scopes = inherit(self._declared, into)
        check_variables(self._value, self._composed, into)
        check_commands(self._value, self._composed, into)
        known = self._known()
        settle_ceilings(scopes, known, into)
        for scope in scopes:
            check_references(scope, into)
            check_authority(scope, known, into)
        check_budgets(self._value, known.scopes, into)
        if not isinstance(settings, Mark):
            check_limits(scopes, settings, into)
        check_sources(scopes, into)
        effective = self._in_effect(scopes, rules, connections)
        if isinstance(settings, Mark):
            return None
        order = {item.at: index for index, item in enumerate(self._composed)}
        in_order_of_file = sorted(effective, key=lambda scope: order[scope.at])
        return Document(
            settings=settings,
            connections=connections,
            scopes=tuple(effective[scope] for scope in in_order_of_file),
        )

    def normal(self) -> JsonValue:
        """Return the normal form of a document without errors."""
        return normal_form(
            self._value.get("settings", {}),
            self._value.get("connections", ()),
            [(_as_adapted(item), item.source) for item in self._declared],
            self._registry,
        )

    def _known(self) -> Known:
        listed = [item for _, item in entries(self._value, "connections", ())]
        return Known(
            connections=_ids(listed),
            scopes=_ids(item.value for item in self._composed),
            registry=self._registry,
        )

    def _in_effect(
        self,
        scopes: list[Effective],
        rules: FolderRules,
        connections: dict[str, Connection],
    ) -> dict[Effective, Scope]:
        """Return the scopes without faults as they are in effect, owners asked.

        A scope with a fault, or below one with a fault, is left out: what its owners
        would say follows from that.
        """
        into, registry = self._into, self._registry
        served = settle_folders(scopes, rules, registry, into)
        forms = Forms(registry)
        for effective in scopes:
            for item in effective.own(Table.BINDINGS):
                if isinstance(binding := forms.of(item), Binding):
                    check_binding(binding, item.at, registry, connections, into)
            check_routes(effective, registry, into)
        faulty = _faulty_places(into.problems)
        clean: dict[Effective, Scope] = {}
        # What the environment names is the folder of any scope.
        if () in faulty:
            return clean
        for effective in scopes:
            is_below_clean = effective.parent is None or effective.parent in clean
            if effective.at in faulty or not is_below_clean:
                continue
            if effective.parent is not None:
                effective.faulty |= effective.parent.faulty
            scope = scope_in_effect(effective, served[effective], forms)
            check_owners(effective, scope, registry, into)
            clean[effective] = scope
        return clean


def _as_adapted(scope: Declared) -> JsonValue:
    """Return the JSON of a scope with its bindings as their executors adapt them."""
    bindings = [item.value for item in scope.tables[Table.BINDINGS]]
    return {**scope.value, "bindings": bindings} if bindings else scope.value


def _ids(items: Iterable[JsonValue]) -> dict[str, None]:
    return {name: None for item in items if (name := word(item, "id"))}


def _independent(problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Leave out that there is no such thing where no name stands in the first place."""
    found = list(problems)
    malformed = {item.pointer for item in found if item.code in _MALFORMED}
    return [
        item
        for item in found
        if item.code not in _NOT_THERE or item.pointer not in malformed
    ]


def _faulty_places(problems: Iterable[Diagnostic]) -> set[Pointer]:
    """Return the places of scopes that have an error in them, and () for the whole."""
    pointers = [item.pointer for item in problems if item.level is Level.ERROR]
    return {pointer[:depth] for pointer in pointers for depth in (2, 4)}

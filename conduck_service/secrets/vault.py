"""What the consumers of one scope may have, resolved when they ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from conduck_service.base.redaction import Redactor
from conduck_service.domain.reference import Reference, parse_reference
from conduck_service.domain.scope import Connection
from conduck_service.secrets.resolve import Acquisition, SecretError
from conduck_service.secrets.source import SecretCode


class Vault:
    """Resolves secrets for the consumers of one scope; used from many threads.

    It keeps no value: each call is one acquisition and asks anew (B-SECRET-38,
    B-SECRET-39). It gives what it is asked for, so whoever calls it asks for what
    its consumer has selected and nothing else (B-SECRET-29, B-SECRET-31).
    """

    def __init__(
        self,
        references: Mapping[str, str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        redactor: Redactor,
    ) -> None:
        """Make a vault; nothing is resolved yet (B-SECRET-28).

        Args:
            references: Secret name to reference text, of a checked scope.
            folder: The config directory.
            environment: Variables of the daemon.
            redactor: Is told every value before anybody gets it.
        """
        self._references = {
            name: parse_reference(text) for name, text in references.items()
        }
        self._folder = folder
        self._environment = environment
        self._redactor = redactor

    def resolve(self, names: Iterable[str]) -> dict[str, str]:
        """Return the values of exactly these secrets of the scope, by name.

        Raises:
            SecretError: One of them cannot be had; none is given then.

        Keeps: B-SECRET-36, B-SECRET-42, B-SECRET-49.
        """
        chosen = {}
        for name in names:
            if name not in self._references:
                raise SecretError(
                    SecretCode.MISSING, name, "declare it in secret_refs of the scope"
                )
            chosen[name] = self._references[name]
        return self._values(chosen)

    def resolve_slots(self, connection: Connection) -> dict[str, str]:
        """Return all values of a connection that the scope is granted, by slot.

        Scope secrets of the same names are others: neither stands in for the other.

        Raises:
            SecretError: One of them cannot be had; none is given then. Its name is
                ``<connection>.<slot>``.
        """
        return self._slots(connection, connection.secret_refs)

    def resolve_slot(self, connection: Connection, slot: str) -> str:
        """Return the value of one slot of such a connection.

        Raises:
            SecretError: It cannot be had.
        """
        return self._slots(connection, (slot,))[slot]

    def _slots(self, connection: Connection, slots: Iterable[str]) -> dict[str, str]:
        prefix = f"{connection.id}."
        values = self._values(
            {
                f"{prefix}{slot}": parse_reference(connection.secret_refs[slot])
                for slot in slots
            }
        )
        return {name.removeprefix(prefix): value for name, value in values.items()}

    def _values(self, references: Mapping[str, Reference]) -> dict[str, str]:
        acquisition = Acquisition(
            references, folder=self._folder, environment=self._environment
        )
        values = {}
        for name in references:
            value = acquisition.value(name)
            self._redactor.register(value)
            values[name] = value
        return values

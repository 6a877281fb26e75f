"""What the consumers of one scope may have, resolved when they ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from conduck_service.base.redaction import Redactor
from conduck_service.domain.reference import parse_reference
from conduck_service.secrets.resolve import (
    SecretCode,
    SecretError,
    read_secrets_file,
    resolve,
)


class Vault:
    """Resolves the secrets of one scope; used from many threads.

    It keeps no value: each call of :meth:`resolve` is one acquisition and asks
    anew (B-SECRET-38, B-SECRET-39).
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
        # One look at the file for all names, so that they are of one moment.
        secrets_file = cache(lambda: read_secrets_file(self._folder))
        values = {}
        for name in names:
            if name not in self._references:
                raise SecretError(
                    SecretCode.MISSING, name, "declare it in secret_refs of the scope"
                )
            value = resolve(
                name,
                self._references[name],
                environment=self._environment,
                secrets_file=secrets_file,
            )
            self._redactor.register(value)
            values[name] = value
        return values

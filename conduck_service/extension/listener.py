"""What the config of every listener has, and how it is checked."""

from __future__ import annotations

from conduck_service.domain.scope import ExtensionEntry, Scope
from conduck_service.extension.kinds import Integer, Name
from conduck_service.extension.spec import Decoding, Field

LISTENER_FIELDS = (
    Field(
        name="namespace",
        kind=Name(),
        doc="Name of this source of events, unique in the whole config.",
        shown=True,
    ),
    Field(
        name="scope",
        kind=Name(),
        doc="The scope that holds this entry.",
        shown=True,
    ),
    Field(
        name="port",
        kind=Integer(1, 65535),
        doc="Port on 127.0.0.1.",
        shown=True,
        live=False,
    ),
)


def check_listener(
    entry: ExtensionEntry, scope: Scope, secret_key: str, into: Decoding
) -> None:
    """Note when a listener is of another scope, or may not have its own secret.

    Args:
        entry: The entry; its config has the fields above and the key.
        scope: The scope that holds it.
        secret_key: The key of the config that names its secret.
        into: Takes the diagnostics.
    """
    if entry.config.scope != scope.id:
        into.refuse(
            ("config", "scope"),
            "unknown_reference",
            "the entry names another scope than the one that holds it",
            "name the containing scope",
        )
    if getattr(entry.config, secret_key) not in entry.secret_names:
        into.refuse(
            ("config", secret_key),
            "unknown_reference",
            "the secret is none of the entry's secret_names",
            "add it to secret_names",
        )

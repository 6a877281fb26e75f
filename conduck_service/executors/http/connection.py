"""The connection type ``openai_http``: a server that speaks as OpenAI's API does."""

from __future__ import annotations

from dataclasses import dataclass

from conduck_service.extension.connection import ConnectionType
from conduck_service.extension.kinds import Text
from conduck_service.extension.spec import Field, Spec

OPENAI_HTTP = "openai_http"

API_KEY = "api_key"
"""The slot of the key; a server without one is sent none."""

_HOST = r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?)"
_PORT = (
    r"(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}"
    r"|[1-9][0-9]{0,3})"
)
_PATH = r"(/[A-Za-z0-9._~%!$&'()*+,;=:@/-]*)?"

# Without user info: a password in it would stand in the config, and in logs.
_BASE_URL = f"https?://{_HOST}(:{_PORT})?{_PATH}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIHttpConfig:
    """Decoded config of a connection; the Spec says what each key is."""

    base_url: str


OPENAI_CONNECTION = ConnectionType(
    name=OPENAI_HTTP,
    spec=Spec(
        OpenAIHttpConfig,
        (
            Field(
                name="base_url",
                kind=Text(
                    _BASE_URL,
                    "http:// or https://, a host, perhaps a port and a path, as in "
                    "http://127.0.0.1:11434/v1, without user, password, query and "
                    "fragment",
                ),
                doc="Where the server's API begins, often with /v1 at its end. Over "
                "http:// to another machine, key and conversations go in clear.",
            ),
        ),
    ),
    slots={API_KEY: "The key that is sent as the bearer token of each request."},
)

"""GET /v1/models: a list that is made once and answered at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import falcon

from conduck_service.base.jsonio import dump
from conduck_service.chat.settings import Model


class ModelsResource:
    """Answers from bytes; it starts nothing and asks nobody (C-MODELS-14)."""

    def __init__(
        self, models: tuple[Model, ...], check_enabled: Callable[[], None]
    ) -> None:
        entries = [_entry(model) for model in models]
        self._check_enabled = check_enabled
        self._body = dump({"object": "list", "data": entries})

    def on_get(self, _request: falcon.Request, response: falcon.Response) -> None:
        """Answer the list of advertised ids (C-MODELS-05).

        While the scope is switched off a client sees a busy service, not a list that
        it cannot use (B-TURN-14).
        """
        self._check_enabled()
        response.content_type = falcon.MEDIA_JSON
        response.data = self._body


def _entry(model: Model) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": model.id, "object": "model"}
    if model.input_modalities:
        entry["conduck"] = {"input_modalities": list(model.input_modalities)}
    return entry

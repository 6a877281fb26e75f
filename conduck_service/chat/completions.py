"""POST /v1/chat/completions: one request, one whole turn, one answer."""

from __future__ import annotations

from collections.abc import Callable

import falcon

from conduck_service.base.clock import Clock
from conduck_service.chat.admission import BodyRoom
from conduck_service.chat.answer import answer_body
from conduck_service.chat.images import check_images
from conduck_service.chat.request import ChatRequest, read_request
from conduck_service.chat.settings import ChatConfig
from conduck_service.domain.errors import ErrorCode, ServiceError
from conduck_service.extension.ingress import TurnPort, TurnRequest
from conduck_service.serving.body import (
    Body,
    BodyCut,
    BodyMalformed,
    BodyStalled,
    BodyTooLarge,
)


class CompletionsResource:
    """Reads a body, understands it, and has the core run the turn.

    The order of the checks is the order in which they can refuse: length, cap,
    room, then the body, its shape, the model, the images and their size.
    """

    def __init__(self, config: ChatConfig, turns: TurnPort, clock: Clock) -> None:
        self._config = config
        self._turns = turns
        self._clock = clock
        self._room = BodyRoom()
        self._ids = tuple(model.id for model in config.models)

    def on_post(self, request: falcon.Request, response: falcon.Response) -> None:
        """Answer with the engine's final answer."""
        body: Body = request.env["conduck.body"]
        self._check_head(body)
        self._turns.check_room()
        with self._room.memory() as grow:
            data = self._read(body, grow)
            received_at = self._clock.monotonic()  # C-TIME-02
            size = len(data)
            chat = read_request(data)
            turn = TurnRequest(
                model_id=self._choose_model(chat),
                conversation=chat.conversation,
                body_bytes=size,
                received_at=received_at,
                client_gone=request.env["conduck.client_gone"],
            )
            self._check_engine(turn)
            reply = self._turns.run(turn)
        response.content_type = falcon.MEDIA_JSON
        response.data = answer_body(reply)

    def _check_head(self, body: Body) -> None:
        if not body.framed:
            raise ServiceError(
                ErrorCode.MALFORMED_REQUEST,
                "the request declares neither Content-Length nor chunked coding",
            )
        if (body.length or 0) > self._config.max_body_bytes:
            raise self._too_large()

    def _too_large(self) -> ServiceError:
        limit = self._config.max_body_bytes
        return ServiceError(
            ErrorCode.BODY_TOO_LARGE,
            f"the request body is too large; the limit is {limit} bytes",
        )

    def _read(self, body: Body, grow: Callable[[int], None]) -> bytearray:
        grow(body.length or 0)
        try:
            with self._room.place():
                return body.read_all(self._config.max_body_bytes, on_growth=grow)
        except BodyTooLarge:
            raise self._too_large() from None
        except BodyMalformed:
            raise ServiceError(
                ErrorCode.MALFORMED_REQUEST, "the chunked coding is broken"
            ) from None
        except (BodyStalled, BodyCut):
            self._turns.check_room()  # a stop cuts uploads, and says so: C-CONC-08
            raise ServiceError(
                ErrorCode.MALFORMED_REQUEST, "the request body did not arrive whole"
            ) from None

    def _choose_model(self, chat: ChatRequest) -> str:
        # C-SELECT-05: with one id advertised nothing is ambiguous.
        if chat.model is None or len(self._ids) == 1:
            return self._config.default_id
        if chat.model not in self._ids:
            raise ServiceError(
                ErrorCode.MODEL_NOT_FOUND,
                "model matches none of the ids that GET /v1/models lists",
            )
        return chat.model

    def _check_engine(self, turn: TurnRequest) -> None:
        capabilities = self._turns.capabilities(turn.model_id)
        check_images(turn.conversation, capabilities, self._config.max_image_bytes)
        limit = capabilities.max_request_bytes
        if limit is not None and turn.body_bytes > limit:
            raise ServiceError(
                ErrorCode.CONTEXT_TOO_LONG,
                f"the conversation is too long for this engine; its limit is {limit} "
                "bytes of request",
            )

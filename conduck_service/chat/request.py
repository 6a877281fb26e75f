"""From the bytes of a body to a conversation, or to a 400 that says why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from conduck_service.base.jsonio import JsonError, JsonValue, decode_utf8, parse
from conduck_service.chat.images import is_inline, read_image
from conduck_service.chat.inline import Carved, carve
from conduck_service.chat.structure import check_structure
from conduck_service.domain.conversation import (
    Conversation,
    ImagePart,
    Message,
    Part,
    Role,
    TextPart,
    UnsupportedPart,
)
from conduck_service.domain.errors import ErrorCode, ServiceError


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """What a chat body asks for.

    Attributes:
        conversation: The snapshot, in the shape it came in.
        model: The model it names; None when it names none.
    """

    conversation: Conversation
    model: str | None


def _refuse(message: str) -> NoReturn:
    # Code-less 400s are worded so that no word pattern of the app takes them for
    # a missing model, a blind engine or a long conversation.
    raise ServiceError(ErrorCode.MALFORMED_REQUEST, message)


def read_request(body: bytearray) -> ChatRequest:
    """Return the request of a chat body and empty the body.

    Unknown keys are ignored everywhere (C-REQ-18 to C-REQ-21); ``stream`` is
    never looked at (C-REQ-30, C-STREAM-03). The bytes are dropped as soon as
    they are parsed, so that a large body is not held twice.

    Raises:
        ServiceError: MALFORMED_REQUEST; the message names the place.
    """
    check_structure(body)
    carved = carve(body)
    body.clear()
    value = _parse(carved.text)
    if not isinstance(value, dict):
        _refuse("the body is not a JSON object")
    messages = value.get("messages")
    if not isinstance(messages, list) or not messages:
        _refuse("messages is not a non-empty array")
    last = len(messages) - 1
    read = tuple(
        _read_message(message, f"messages/{index}", carved, is_newest=index == last)
        for index, message in enumerate(messages)
    )
    if read[-1].role is not Role.USER:
        _refuse("the last element of messages has another role than user")
    model = value.get("model")
    if model is not None and not isinstance(model, str):
        _refuse("model is neither a string nor null")
    return ChatRequest(conversation=Conversation(read), model=model)


def _parse(text: bytes) -> JsonValue:
    try:
        return parse(decode_utf8(text))
    except JsonError as error:
        _refuse(f"the body is not valid JSON: {error.reason}")


def _read_message(
    value: JsonValue, place: str, carved: Carved, *, is_newest: bool
) -> Message:
    if not isinstance(value, dict):
        _refuse(f"{place} is not an object")
    role = value.get("role")
    if role not in ("user", "assistant"):
        _refuse(f"{place}/role is neither user nor assistant")
    content = value.get("content")
    if isinstance(content, str):
        return Message(Role(role), _text(content, f"{place}/content"))
    if not isinstance(content, list):
        _refuse(f"{place}/content is neither a string nor an array of parts")
    if is_newest and not content:
        _refuse(f"{place}/content is an empty array")
    parts = tuple(
        _read_part(part, f"{place}/content/{index}", carved, is_newest=is_newest)
        for index, part in enumerate(content)
    )
    return Message(Role(role), parts)


def _read_part(
    value: JsonValue, place: str, carved: Carved, *, is_newest: bool
) -> Part:
    if not isinstance(value, dict):
        _refuse(f"{place} is not an object")
    kind = value.get("type")
    if not isinstance(kind, str):
        _refuse(f"{place}/type is not a string")
    if kind == "text":
        text = value.get("text")
        if not isinstance(text, str):
            _refuse(f"{place}/text is not a string")
        return TextPart(_text(text, f"{place}/text"))
    if kind == "image_url":
        return _read_image_part(value, place, carved, is_newest=is_newest)
    return UnsupportedPart()


def _read_image_part(
    value: Mapping[str, JsonValue], place: str, carved: Carved, *, is_newest: bool
) -> ImagePart:
    holder = value.get("image_url")
    url = holder.get("url") if isinstance(holder, dict) else None
    if not isinstance(url, str):
        _refuse(f"{place}/image_url/url is not a string")
    uri = carved.images.get(url) or url.encode("utf-8", "replace")
    if not is_inline(uri):
        # Never fetched, in whichever message it stands: C-IMG-17 to C-IMG-19.
        _refuse(f"{place}/image_url/url is not a data URI")
    image = read_image(uri)
    if is_newest and not image.is_usable:
        _refuse(f"{place}/image_url/url is not a base64 data URI of type image/*")
    return image


def _text(text: str, place: str) -> str:
    """Return the text, or refuse what no engine could be given (C-REQ-25)."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        _refuse(f"{place} holds half of a surrogate pair")
    return text

"""Messages that JSON has in a form of their own: quantities, times, numbers or names, raw JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec
from google.protobuf.message import Message

from apps.api.kubernetes.protobuf.schema import EXTENSIONS, META, RUNTIME
from apps.cluster.documents import UnreadableDocument, parse_json

_RESOURCE: Final = "k8s.io.apimachinery.pkg.api.resource."
_INT_OR_STRING: Final = "k8s.io.apimachinery.pkg.util.intstr.IntOrString"

Decode = Callable[[Any], Any]


class Special(NamedTuple):
    """The two conversions of a message."""

    #: A value of JSON as arguments of the message.
    encode: Callable[[Any], Mapping[str, Any]]
    #: The message as a value of JSON; None: no value.
    decode: Decode


def _encode_time(text: str | None) -> Mapping[str, Any]:
    # seconds only, as upstream stores them
    return {"seconds": int(_moment(text).timestamp())} if text else {}


def _encode_micro_time(text: str | None) -> Mapping[str, Any]:
    if not text:
        return {}
    moment = _moment(text)
    return {"seconds": int(moment.timestamp()), "nanos": moment.microsecond * 1000}


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _decode_time(message: Any) -> str | None:
    moment = _to_moment(message)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def _decode_micro_time(message: Any) -> str | None:
    moment = _to_moment(message)
    if moment is None:
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{message.nanos // 1000 % 10**6:06d}Z"


def _to_moment(message: Any) -> datetime | None:
    """A time without its fraction; None for the zero time."""
    if not message.seconds and not message.nanos:
        return None
    try:
        moment = datetime.fromtimestamp(message.seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise UnreadableDocument(f"protobuf: {message.seconds} is not a time") from error
    return moment


def _encode_int_or_string(value: int | str) -> Mapping[str, Any]:
    return {"type": 1, "strVal": value} if isinstance(value, str) else {"type": 0, "intVal": value}


def _decode_int_or_string(message: Any) -> int | str:
    return text(message.strVal) if message.type else int(message.intVal)


def _decode_quantity(message: Any) -> str:
    return text(message.string) or "0"


def _encode_raw(value: Any) -> Mapping[str, Any]:
    return {"raw": msgspec.json.encode(value)}


def _decode_raw(message: Any) -> Any:
    return parse_json(message.raw) if message.raw else None


def text(value: str | bytes) -> str:
    """Text of a message; UnreadableDocument if it is not UTF-8 or has a NUL character."""
    if isinstance(value, bytes):
        raise UnreadableDocument("protobuf: a text is not UTF-8")
    if "\x00" in value:
        raise UnreadableDocument("protobuf: a text holds a NUL character")
    return value


def _encode_items(values: list[str]) -> Mapping[str, Any]:
    return {"items": values}


def _decode_items(message: Message) -> list[str]:
    return [text(value) for value in message.items]  # type: ignore[attr-defined]


_RAW: Final = Special(_encode_raw, _decode_raw)
_ITEMS: Final = Special(_encode_items, _decode_items)

SPECIAL: Final[Mapping[str, Special]] = {
    f"{META}v1.Time": Special(_encode_time, _decode_time),
    f"{META}v1.MicroTime": Special(_encode_micro_time, _decode_micro_time),
    f"{META}v1.FieldsV1": _RAW,
    f"{META}v1.Verbs": _ITEMS,
    f"{RUNTIME}RawExtension": _RAW,
    f"{EXTENSIONS}v1.JSON": _RAW,
    f"{_RESOURCE}Quantity": Special(lambda value: {"string": str(value)}, _decode_quantity),
    _INT_OR_STRING: Special(_encode_int_or_string, _decode_int_or_string),
    **{
        f"k8s.io.api.{group}.v1.ExtraValue": _ITEMS
        for group in ("authentication", "authorization", "certificates")
    },
}

"""Protobuf request bodies of the kinds that clients send in this format by default.

`kubectl create namespace`, `create deployment` and similar commands, and kube-scheduler in its
default configuration (bindings, events, leases), send Kubernetes protobuf. Unknown fields are
rejected, not dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from apps.api.kubernetes.protobuf.messages import KINDS, MESSAGES
from apps.cluster.documents import UnreadableDocument

Body = dict[str, Any]

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_MAX_DEPTH = 16


def decode(raw: bytes) -> Body:
    """The object in a protobuf body, with its type; UnreadableDocument for unsupported kinds."""
    if not raw.startswith(_MAGIC):
        raise UnreadableDocument("protobuf: the body does not start with the magic number")
    envelope = _message("Unknown", raw[len(_MAGIC) :], 0)
    said = envelope.get("type") or {}
    kind, api_version = said.get("kind", ""), said.get("apiVersion", "")
    special = f"{api_version} {kind}"
    name = special if special in MESSAGES else kind
    if name not in KINDS:
        raise UnreadableDocument(f"protobuf: a {kind or 'body'} can only be sent as JSON or YAML")
    return {"apiVersion": api_version, "kind": kind, **_message(name, envelope.get("raw", b""), 0)}


def _message(name: str, raw: bytes, depth: int) -> Body:
    if depth > _MAX_DEPTH:
        raise UnreadableDocument(f"protobuf: {name} is nested too deeply")
    body: Body = {}
    for number, value in _fields(raw, name):
        field, type_ = MESSAGES[name].get(number, (None, ""))
        if field is None:
            raise UnreadableDocument(f"protobuf: field {number} of {name} is not known")
        if not field:
            continue
        read = _value(type_.removeprefix("[]").rstrip("?"), value, f"{name}.{field}", depth)
        if type_.startswith("[]"):
            body.setdefault(field, []).append(read)
        elif type_ in ("map", "quantities"):
            body.setdefault(field, {}).update(read)
        elif read or isinstance(read, dict) or type_.endswith(("?", "int-or-str")):
            # Go writes empty values in protobuf that it omits in JSON
            body[field] = read
    return body


def _value(type_: str, value: int | bytes, place: str, depth: int) -> Any:
    if type_ in ("int", "bool"):
        if not isinstance(value, int):
            raise UnreadableDocument(f"protobuf: {place} is not a number")
        return bool(value) if type_ == "bool" else _to_signed(value)
    if not isinstance(value, bytes):
        raise UnreadableDocument(f"protobuf: {place} is a number")
    match type_:
        case "bytes":
            return value
        case "str":
            return _text(value, place)
        case "map":
            return _map_entry(value, place)
        case "quantities":
            return _quantity_entry(value, place, depth)
        case "time" | "micro":
            return _time(value, place, micro=type_ == "micro")
        case "int-or-str":
            return _int_or_string(value, place)
        case _:
            return _message(type_, value, depth + 1)


def _fields(raw: bytes, name: str) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each field: varints as integers, length-delimited values as bytes."""
    position = 0
    while position < len(raw):
        key, position = _varint(raw, position, name)
        value: int | bytes
        match key & 7:
            case 0:
                value, position = _varint(raw, position, name)
            case 2:
                length, position = _varint(raw, position, name)
                value, position = raw[position : position + length], position + length
                if position > len(raw):
                    raise UnreadableDocument(f"protobuf: {name} is truncated")
            case wire:
                raise UnreadableDocument(f"protobuf: wire type {wire} in {name}")
        yield key >> 3, value


def _varint(raw: bytes, position: int, name: str) -> tuple[int, int]:
    value = shift = 0
    while position < len(raw) and shift < 70:
        byte = raw[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
    raise UnreadableDocument(f"protobuf: {name} is truncated")


def _to_signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _text(value: bytes, place: str) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        raise UnreadableDocument(f"protobuf: {place} is not UTF-8") from error
    if "\x00" in text:
        raise UnreadableDocument(f"protobuf: {place} holds a NUL character")
    return text


def _map_entry(raw: bytes, place: str) -> dict[str, str]:
    entry = {number: value for number, value in _fields(raw, place) if isinstance(value, bytes)}
    return {_text(entry.get(1, b""), place): _text(entry.get(2, b""), place)}


def _quantity_entry(raw: bytes, place: str, depth: int) -> dict[str, str]:
    entry = {number: value for number, value in _fields(raw, place) if isinstance(value, bytes)}
    amount = _message("Quantity", entry.get(2, b""), depth + 1)
    return {_text(entry.get(1, b""), place): amount.get("string", "0")}


def _time(raw: bytes, place: str, *, micro: bool) -> str | None:
    parts = {n: _to_signed(v) for n, v in _fields(raw, place) if isinstance(v, int)}
    seconds, nanos = parts.get(1, 0), parts.get(2, 0)
    if not seconds and not nanos:
        return None
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise UnreadableDocument(f"protobuf: {place} is not a time") from error
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{nanos // 1000 % 10**6:06d}Z" if micro else f"{text}Z"


def _int_or_string(raw: bytes, place: str) -> int | str:
    parts = dict(_fields(raw, place))
    if parts.get(1):
        value = parts.get(3, b"")
        return _text(value, place) if isinstance(value, bytes) else ""
    number = parts.get(2, 0)
    return _to_signed(number) if isinstance(number, int) else 0

"""What surrounds protobuf messages: the envelope of an object, lists, frames of a watch."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from apps.api.kubernetes.protobuf import decoding, encoding
from apps.api.kubernetes.protobuf.classes import message_class
from apps.api.kubernetes.protobuf.schema import META, RUNTIME, message_of, messages
from apps.api.kubernetes.protobuf.special import text
from apps.cluster.documents import UnreadableDocument

Body = dict[str, Any]

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_UNKNOWN: Final = f"{RUNTIME}Unknown"
#: Encoded lists beyond this size wait in a temporary file.
_IN_MEMORY: Final = 1024 * 1024
#: The type on the wire of fields with a length before their bytes.
_LENGTH: Final = 2
#: Keys of the envelope's fields, and its empty contentEncoding and contentType.
_TYPE: Final = b"\x0a"
_RAW: Final = b"\x12"
_END: Final = b"\x1a\x00\x22\x00"


def has_message(api_version: str, kind: str) -> bool:
    """Whether a kind can be sent as protobuf."""
    return message_of(api_version, kind) is not None


def decode(raw: bytes, api_version: str = "", kind: str = "") -> Body:
    """The object in a body, with its type; by default that of the parameters.

    UnreadableDocument if it is invalid, or of a kind without a message.
    """
    if not raw.startswith(_MAGIC):
        raise UnreadableDocument("protobuf: the body does not start with the magic number")
    envelope: Any = decoding.parse(_UNKNOWN, raw[len(_MAGIC) :])
    said = envelope.typeMeta
    api_version, kind = text(said.apiVersion) or api_version, text(said.kind) or kind
    name = message_of(api_version, kind)
    if name is None:
        raise UnreadableDocument(
            f'protobuf: no kind "{kind}" is registered for version "{api_version}"'
        )
    return {"apiVersion": api_version, "kind": kind, **decoding.decode(name, envelope.raw)}


def encode(body: Mapping[str, Any]) -> bytes:
    """An object with its type as the body of a response."""
    api_version, kind = body.get("apiVersion") or "v1", body["kind"]
    raw = encoding.encode(_message_of(api_version, kind), body)
    return b"".join((_start(api_version, kind, len(raw)), raw, _END))


def list_pieces(envelope: Body, items: Iterable[Body], piece_size: int) -> Iterator[bytes]:
    """The body of a list: `envelope` with these items in its empty list.

    The length of a list precedes it, so all items are encoded before the first piece; they wait in
    a file if they are large.
    """
    api_version, kind = envelope["apiVersion"], envelope["kind"]
    name = _message_of(api_version, kind)
    field = next(field for field in messages()[name] if field.json == "items")
    key = bytes([field.number << 3 | _LENGTH])
    head = encoding.encode(name, envelope)
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
        for body in items:
            raw = encoding.encode(field.type, body)
            file.write(key + _varint(len(raw)))
            file.write(raw)
        size = len(head) + file.tell()
        file.seek(0)
        piece = _start(api_version, kind, size) + head
        while more := file.read(piece_size):
            yield piece + more
            piece = b""
        yield piece + _END


def frame(event: str, body: Mapping[str, Any]) -> bytes:
    """An event of a watch, with its length before it."""
    watched = message_class(f"{META}v1.WatchEvent")(type=event, object={"raw": encode(body)})
    raw = watched.SerializeToString()
    return len(raw).to_bytes(4, "big") + raw


def _message_of(api_version: str, kind: str) -> str:
    name = message_of(api_version, kind)
    assert name is not None, f"{api_version} {kind} has no message"
    return name


def _start(api_version: str, kind: str, size: int) -> bytes:
    """An envelope up to its `raw`, which has this size."""
    typed = message_class(f"{RUNTIME}TypeMeta")(apiVersion=api_version, kind=kind)
    said = typed.SerializeToString()
    return b"".join((_MAGIC, _TYPE, _varint(len(said)), said, _RAW, _varint(size)))


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)

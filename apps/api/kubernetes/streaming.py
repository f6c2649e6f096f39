"""Lists as responses that are composed while they are sent, so that a list of any size fits.

A list that fits into one piece is an ordinary response. A longer one is compressed if the client
accepts gzip, as kube-apiserver does.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
import yaml
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

Body = dict[str, Any]

#: Bytes of a piece; also the size above which kube-apiserver compresses responses.
PIECE: Final = 128 * 1024
#: The fastest level: higher ones take twice the time to save a tenth.
_GZIP_LEVEL: Final = 1


def list_response(
    pieces: Iterator[bytes], *, content_type: str, accepts_gzip: bool
) -> HttpResponseBase:
    """The response with these pieces."""
    first = next(pieces)
    second = next(pieces, None)
    if second is None:
        return HttpResponse(first, content_type=content_type)
    whole = _prepend(first, second, pieces)
    if not accepts_gzip:
        return StreamingHttpResponse(whole, content_type=content_type)
    return StreamingHttpResponse(
        _compress(whole),
        content_type=content_type,
        headers={"Content-Encoding": "gzip", "Vary": "Accept-Encoding"},
    )


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether a client with this Accept-Encoding header gets compressed lists."""
    return any(name.strip() == "gzip" for name in accept_encoding.split(","))


def json_pieces(envelope: Body, items: Iterable[bytes]) -> Iterator[bytes]:
    """A JSON object whose last field is a list: `envelope` with these items in its empty list."""
    piece = bytearray(msgspec.json.encode(envelope).removesuffix(b"]}"))
    separator = b""
    for item in items:
        piece += separator
        piece += item
        separator = b","
        if len(piece) >= PIECE:
            yield bytes(piece)
            piece.clear()
    piece += b"]}\n"
    yield bytes(piece)


def yaml_pieces(envelope: Body, field: str, items: Iterable[Body]) -> Iterator[bytes]:
    """A YAML document with sorted fields: `envelope` with these items in its empty list `field`."""
    piece = bytearray(_dump({name: value for name, value in envelope.items() if name < field}))
    items = iter(items)
    first = next(items, None)
    if first is None:
        piece += _dump({field: []})
    else:
        piece += f"{field}:\n".encode() + _dump([first])
    for item in items:
        piece += _dump([item])
        if len(piece) >= PIECE:
            yield bytes(piece)
            piece.clear()
    piece += _dump({name: value for name, value in envelope.items() if name > field})
    yield bytes(piece)


def _dump(value: Any) -> bytes:
    if value == {}:
        return b""
    text: str = yaml.safe_dump(value, sort_keys=True, allow_unicode=True)
    return text.encode()


def _prepend(first: bytes, second: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield second
    yield from rest


def _compress(pieces: Iterator[bytes]) -> Iterator[bytes]:
    compressor = zlib.compressobj(_GZIP_LEVEL, wbits=16 + zlib.MAX_WBITS)
    for piece in pieces:
        if compressed := compressor.compress(piece):
            yield compressed
    yield compressor.flush()

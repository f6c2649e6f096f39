"""The Accept header: the format and the transformation of a response."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import msgspec
import yaml
from django.http import HttpResponse

from apps.api.kubernetes.errors import (
    MEDIA_TYPES,
    STREAM_TYPES,
    NoRepresentation,
    not_served,
    not_watched,
)
from apps.api.kubernetes.protobuf import envelopes

_FORMATS = {
    "application/json": "json",
    "application/*": "json",
    "*/*": "json",
    "application/yaml": "yaml",
    envelopes.MEDIA_TYPE: "protobuf",
}
#: Format -> the media type of responses.
TYPES = {name: media_type for media_type, name in _FORMATS.items() if "*" not in media_type}
_TRANSFORMATIONS = {
    ("meta.k8s.io", version, kind)
    for version in ("v1", "v1beta1")
    for kind in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
}
_DISCOVERY = {
    ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"),
    ("apidiscovery.k8s.io", "v2beta1", "APIGroupDiscoveryList"),
}


@dataclass(frozen=True, slots=True)
class Media:
    """An accepted representation."""

    #: json, yaml or protobuf.
    format: str = "json"
    #: Table, PartialObjectMetadata, PartialObjectMetadataList, APIGroupDiscoveryList or "".
    as_: str = ""
    #: Version of the kind that `as_` names.
    version: str = ""
    #: JSON with a line for each field.
    pretty: bool = False


PLAIN = Media()
#: What errors are sent as to a client that accepts nothing of what there is.
_PRETTY = Media(pretty=True)
#: Parameters of a media type that name a transformation.
_TRANSFORMS = ("g", "v", "as")

_READ_BY_PEOPLE = ("curl", "Wget", "Mozilla/5.0")
_TRUE = ("1", "t", "T", "true", "True", "TRUE")


def negotiate(
    accept: str,
    *,
    discovery: bool = False,
    protobuf: bool = True,
    custom: bool = False,
    listed: bool = False,
    watched: bool = False,
) -> Media:
    """The first supported representation in an Accept header.

    Raises NotAcceptable if there is none, NoRepresentation for a media type that no route knows.
    What cannot be served is skipped, because clients list several forms, such as the newest first.
    Without `protobuf` the objects have no messages: only their metadata can be sent in this format.
    Paths of `custom` resources have no routes, which compare media types by their own. `listed`: of
    a collection, `watched`: for a watch.
    """
    if accept in ("", "application/json", "*/*"):
        return PLAIN
    if not custom and not _is_routed(accept):
        raise NoRepresentation(f"{MEDIA_TYPES}, {STREAM_TYPES}" if listed else MEDIA_TYPES)
    media = _first_served(accept, _DISCOVERY if discovery else _TRANSFORMATIONS, protobuf)
    if media is None:
        raise not_served()
    if watched and media.format == "yaml":
        raise not_watched()
    return media


def negotiate_errors(accept: str) -> Media:
    """The format of errors: an accepted one without a transformation, or indented JSON."""
    return _first_served(accept, frozenset(), protobuf=True) or _PRETTY if accept else PLAIN


def _is_routed(accept: str) -> bool:
    """Whether a route serves one of the media types, which it compares without parameters."""
    types = {clause.partition(";")[0].strip() for clause in accept.split(",")}
    return any(each in _FORMATS and each != "application/*" for each in types)


def _first_served(accept: str, known: Container[tuple[str, ...]], protobuf: bool) -> Media | None:
    for clause in _by_quality(accept):
        media_type, *parameters = (part.strip() for part in clause.split(";"))
        given = dict(part.split("=", 1) for part in parameters if "=" in part)
        # in YAML nothing is streamed
        streams = ("", "watch") if _FORMATS.get(media_type) != "yaml" else ("",)
        if media_type not in _FORMATS or given.get("stream", "") not in streams:
            continue
        group, version, kind = (given.get(name, "") for name in _TRANSFORMS)
        media = Media(_FORMATS[media_type], kind, version, pretty=given.get("pretty") == "1")
        wanted = not given.keys().isdisjoint(_TRANSFORMS)
        if (not wanted or (group, version, kind) in known) and _is_encodable(media, protobuf):
            return media
    return None


def response(
    body: Any, media: Media = PLAIN, *, status: int = 200, content_type: str = ""
) -> HttpResponse:
    """`body` in the format of `media`."""
    if media.format == "protobuf":
        return HttpResponse(
            envelopes.encode(body), content_type=content_type or envelopes.MEDIA_TYPE, status=status
        )
    if media.format == "yaml":
        text = yaml.safe_dump(body, sort_keys=True, allow_unicode=True)
        return HttpResponse(text, content_type="application/yaml", status=status)
    return HttpResponse(
        json_text(msgspec.json.encode(body), pretty=media.pretty),
        content_type=content_type or "application/json",
        status=status,
    )


def json_text(text: bytes, *, pretty: bool = False) -> bytes:
    """JSON as the API server sends it: in one line that ends, or indented."""
    return msgspec.json.format(text, indent=2) if pretty else text + b"\n"


def stored_text(text: bytes) -> bytes:
    """An object's text in the database, as the API server sends it: its own has spaces."""
    return msgspec.json.format(text, indent=-1) + b"\n"


def is_pretty(parameter: str | None, user_agent: str) -> bool:
    """Whether a request gets indented JSON: by `?pretty=`, or as a tool that people read."""
    if parameter:
        return parameter in _TRUE
    return user_agent.startswith(_READ_BY_PEOPLE)


def _is_encodable(media: Media, protobuf: bool) -> bool:
    """Whether objects can be sent like this; protobuf has no tables, and not every kind."""
    if media.format != "protobuf" or media.as_.startswith("Partial"):
        return True
    return protobuf and media.as_ != "Table"


def _by_quality(accept: str) -> list[str]:
    clauses = [clause.strip() for clause in accept.split(",")]
    return sorted(clauses, key=_rank, reverse=True)


def _rank(clause: str) -> tuple[float, bool, bool]:
    """Clauses with a higher quality come first, of those with the same the more specific one."""
    media_type, *parameters = (part.strip() for part in clause.split(";"))
    values = [part[2:] for part in parameters if part.startswith("q=")]
    try:
        quality = float(values[0]) if values else 1.0
    except ValueError:
        quality = 0.0
    return quality, not media_type.startswith("*/"), not media_type.endswith("/*")

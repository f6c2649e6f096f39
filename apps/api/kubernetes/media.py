"""The Accept header: the format and the transformation of a response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import yaml
from django.http import HttpResponse

from apps.api.kubernetes.errors import NoRepresentation, unknown_transformation

_JSON = frozenset({"application/json", "application/*", "*/*"})
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

    yaml: bool = False
    #: Table, PartialObjectMetadata, PartialObjectMetadataList, APIGroupDiscoveryList or "".
    as_: str = ""
    #: Version of the kind that `as_` names.
    version: str = ""
    #: JSON with a line for each field.
    pretty: bool = False


PLAIN = Media()

_READ_BY_PEOPLE = ("curl", "Wget", "Mozilla/5.0")
_TRUE = ("1", "t", "T", "true", "True", "TRUE")


def negotiate(accept: str, *, discovery: bool = False) -> Media:
    """The first supported representation in an Accept header.

    Raises NotAcceptable if there is none. For discovery documents an unknown `as=` is skipped,
    because clients list the forms from newest to oldest.
    """
    if accept in ("", "application/json", "*/*"):
        return PLAIN
    known = _DISCOVERY if discovery else _TRANSFORMATIONS
    untransformable = False
    for clause in _by_quality(accept):
        media_type, *parameters = (part.strip() for part in clause.split(";"))
        given = dict(part.split("=", 1) for part in parameters if "=" in part)
        if media_type not in _JSON and media_type != "application/yaml":
            continue
        wants = (given.get("g", ""), given.get("v", ""), given.get("as", ""))
        if wants[2] and wants not in known:
            untransformable = True
            continue
        return Media(media_type == "application/yaml", wants[2], wants[1])
    raise unknown_transformation() if untransformable else NoRepresentation()


def response(
    body: Any, media: Media = PLAIN, *, status: int = 200, content_type: str = ""
) -> HttpResponse:
    """`body` in the format of `media`."""
    if media.yaml:
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


def is_pretty(parameter: str | None, user_agent: str) -> bool:
    """Whether a request gets indented JSON: by `?pretty=`, or as a tool that people read."""
    if parameter:
        return parameter in _TRUE
    return user_agent.startswith(_READ_BY_PEOPLE)


def _by_quality(accept: str) -> list[str]:
    clauses = [clause.strip() for clause in accept.split(",")]
    return sorted(clauses, key=_quality, reverse=True)


def _quality(clause: str) -> float:
    _, found, value = clause.partition("q=")
    try:
        return float(value.split(";")[0]) if found else 1.0
    except ValueError:
        return 0.0

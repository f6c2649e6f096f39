"""Renders answers as the client accepts them: the object itself, a Table, only metadata."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import HttpResponse

from apps.api.kubernetes import media, tables
from apps.api.kubernetes.calls import Answer, Call
from apps.api.kubernetes.resources import Resource

Body = dict[str, Any]


def present(call: Call, answer: Answer) -> HttpResponse:
    """The HTTP response for an answer, with its warnings."""
    if answer.status == 204:
        response = HttpResponse(status=204)
        del response.headers["Content-Type"]
        return response
    if answer.texts is not None:
        return _text_list(call, answer.texts, answer.metadata)
    response = media.response(_render(call, answer), call.media, status=answer.status)
    return warn(response, answer.warnings)


def warn(response: HttpResponse, warnings: list[str]) -> HttpResponse:
    """Add Warning headers, which kubectl shows."""
    if warnings:
        response.headers["Warning"] = warning_header(warnings)
    return response


def warning_header(warnings: list[str]) -> str:
    """The value of the Warning header."""
    # Django stores one value per header; in HTTP a comma-separated list is equivalent
    return ", ".join(_warning(text) for text in warnings)


def _text_list(call: Call, texts: list[str], metadata: Body) -> HttpResponse:
    """A list composed of texts, so that thousands of objects need not be decoded."""
    head = msgspec.json.encode(as_list(call.resource, [], metadata)).decode()
    text = f"{head.removesuffix(']}')}{','.join(texts)}]}}"
    return HttpResponse(text.encode(), content_type="application/json")


def as_list(resource: Resource, items: list[Body], metadata: Body) -> Body:
    """A list of objects; its items do not repeat their type."""
    to_wire = resource.to_wire
    return {
        "kind": f"{resource.kind.name}List",
        "apiVersion": resource.api_version,
        "metadata": metadata,
        "items": [_strip_type(to_wire(body)) for body in items],
    }


def as_event_object(call: Call, body: Body, *, first: bool) -> Body:
    """An object as sent in a watch; `first` if it is the first of its stream."""
    if call.media.as_ == "Table":
        return _table(call, [body], _version(body), definitions=first)
    if call.media.as_ in ("PartialObjectMetadata", "PartialObjectMetadataList"):
        return tables.partial(body)
    return call.resource.to_wire(body)


def _render(call: Call, answer: Answer) -> Body:
    if answer.is_status:
        return answer.body
    if answer.items is None:
        return _render_object(call, answer.body)
    return _render_list(call, answer.items, answer.metadata)


def _render_object(call: Call, body: Body) -> Body:
    match call.media.as_:
        case "Table":
            return _table(call, [body], _version(body))
        case "PartialObjectMetadata":
            return tables.partial(body)
        case _:
            return call.resource.to_wire(body)


def _render_list(call: Call, items: list[Body], metadata: Body) -> Body:
    match call.media.as_:
        case "Table":
            return _table(call, items, metadata)
        case "PartialObjectMetadataList":
            return {
                "kind": "PartialObjectMetadataList",
                "apiVersion": tables.META,
                "metadata": metadata,
                "items": [tables.partial(body) for body in items],
            }
        case _:
            return as_list(call.resource, items, metadata)


def _table(call: Call, objects: list[Body], metadata: Body, *, definitions: bool = True) -> Body:
    return tables.table(
        call.resource.kind.name,
        objects,
        metadata,
        now=call.cluster.now(),
        include=tables.include_object(call.query.get("includeObject", "")),
        definitions=definitions,
    )


def _version(body: Body) -> Body:
    version = body["metadata"].get("resourceVersion")
    return {"resourceVersion": version} if version else {}


def _strip_type(body: Body) -> Body:
    return {name: value for name, value in body.items() if name not in ("kind", "apiVersion")}


def _warning(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    printable = "".join(char if char.isprintable() else " " for char in escaped)
    return f'299 - "{printable}"'.encode("ascii", "replace").decode()

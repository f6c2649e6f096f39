"""Renders answers as the client accepts them: the object itself, a Table, only metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any, Final

import msgspec
from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apps.api.kubernetes import media, streaming, tables
from apps.api.kubernetes.bodies import internal_package
from apps.api.kubernetes.calls import Answer, Call
from apps.api.kubernetes.listing import ListPage
from apps.api.kubernetes.protobuf import envelopes
from apps.api.kubernetes.resources import Resource
from apps.cluster.errors import NotAcceptable
from apps.cluster.kind import DEFAULT_COLUMNS

Body = dict[str, Any]

#: Transformations of a list; a list is not transformed by others.
_LIST_FORMS = ("Table", "PartialObjectMetadataList")


def present(call: Call, answer: Answer) -> HttpResponseBase:
    """The HTTP response for an answer, with its warnings."""
    if answer.page is not None:
        return _present_page(call, answer.page)
    return present_object(call, answer)


def present_object(call: Call, answer: Answer) -> HttpResponse:
    """`present` for an answer that is not a page of a list."""
    if answer.text is not None:
        return HttpResponse(answer.text, content_type="text/plain")
    if answer.status == 204:
        response = HttpResponse(status=204)
        del response.headers["Content-Type"]
        return response
    response = media.response(_render(call, answer), call.media, status=answer.status)
    return warn(response, answer.warnings)


def warn(response: HttpResponse, warnings: list[str]) -> HttpResponse:
    """Add Warning headers, which kubectl shows."""
    if warnings:
        response.headers["Warning"] = warning_header(warnings)
    return response


def prepend_warning(response: HttpResponseBase, text: str) -> HttpResponseBase:
    """Add a Warning header before those that the response has."""
    others = response.headers.get("Warning")
    header = warning_header([text])
    response.headers["Warning"] = f"{header}, {others}" if others else header
    return response


#: characters of all warnings; if they have more, of each
_WARNINGS_LENGTH: Final = 4096
_WARNING_LENGTH: Final = 256


def warning_header(warnings: list[str]) -> str:
    """The value of the Warning header: each text once, cut as kube-apiserver cuts long ones."""
    warnings = list(dict.fromkeys(warnings))
    if sum(map(len, warnings)) > _WARNINGS_LENGTH:
        warnings = [text[:_WARNING_LENGTH] for text in warnings]
        ends = accumulate(map(len, warnings))
        warnings = [
            text for text, end in zip(warnings, ends, strict=True) if end <= _WARNINGS_LENGTH
        ]
    # Django stores one value per header; in HTTP a comma-separated list is equivalent
    return ", ".join(_warning(text) for text in warnings)


@dataclass(frozen=True, slots=True)
class _ListForm:
    """How a list is rendered: `envelope` ends with its empty list `field`."""

    envelope: Body
    field: str
    #: An object in stored form as an item of the list.
    item: Callable[[Body], Body]
    #: Whether a list without an item is null.
    is_null: bool = False

    def render(self, objects: list[Body]) -> Body:
        items = [self.item(body) for body in objects]
        return {**self.envelope, self.field: None if self.is_null and not items else items}


def _present_page(call: Call, page: ListPage[Iterator[str]]) -> HttpResponseBase:
    form = _list_form(call, page.metadata())
    return streaming.list_response(
        _pieces(call, form, page.items),
        content_type=media.TYPES[call.media.format],
        accepts_gzip=call.accepts_gzip,
    )


def _pieces(call: Call, form: _ListForm, texts: Iterator[str]) -> Iterator[bytes]:
    """A list in the accepted format."""
    if form.is_null:
        first = next(texts, None)
        if first is None:
            return iter((media.response(form.render([]), call.media).content,))
        texts = chain((first,), texts)
    if call.media.format == "json":
        pieces = streaming.json_pieces(form.envelope, _json_items(call, form, texts))
        if call.media.pretty:
            pieces = iter((media.json_text(b"".join(pieces), pretty=True),))
        return pieces
    bodies = (form.item(msgspec.json.decode(text)) for text in texts)
    if call.media.format == "yaml":
        return streaming.yaml_pieces(form.envelope, form.field, bodies)
    return envelopes.list_pieces(form.envelope, bodies, streaming.PIECE)


def _json_items(call: Call, form: _ListForm, texts: Iterator[str]) -> Iterator[bytes]:
    if call.media.as_ not in _LIST_FORMS and call.resource.as_stored:
        # most lists: without decoding their objects
        if call.resource.custom is not None:
            yield from (text.encode() for text in texts)
        else:
            yield from untyped_texts(call.resource, texts)
        return
    decode, encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode
    for text in texts:
        yield encode(form.item(decode(text)))


def untyped_texts(resource: Resource, texts: Iterable[str]) -> Iterator[bytes]:
    """Stored objects as items of a list, which do not repeat their type."""
    # The database sorts fields by length: these are the first and the last of most kinds. Quotes
    # within texts are escaped, so what ends the text is a field of the object itself.
    start = f'{{"kind": "{resource.kind.name}", '
    end = f', "apiVersion": "{resource.kind.api_version}"}}'
    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    for text in texts:
        if text.startswith(start) and text.endswith(end):
            yield f"{{{text[len(start) : -len(end)]}}}".encode()
        else:
            yield msgspec.json.encode(_strip_type(decode(text)))


def as_event_object(call: Call, body: Body, *, first: bool) -> Body:
    """An object as sent in a watch; `first` if it is the first of its stream."""
    if call.media.as_ == "Table":
        return _table(call, body, definitions=first)
    if call.media.as_ in ("PartialObjectMetadata", "PartialObjectMetadataList"):
        return tables.partial(body, call.media.version)
    return call.resource.to_wire(body)


def _render(call: Call, answer: Answer) -> Body:
    if answer.is_status:
        return answer.body
    if answer.items is None:
        return _render_object(call, answer.body)
    return _list_form(call, answer.metadata).render(answer.items)


def _render_object(call: Call, body: Body) -> Body:
    match call.media.as_:
        case "Table":
            return _table(call, body)
        case "PartialObjectMetadata":
            return tables.partial(body, call.media.version)
        case "PartialObjectMetadataList" as form:
            kind = f"{internal_package(call.resource.api_version)}.{call.resource.kind.name}"
            if call.resource.custom is not None:
                kind = "unstructured.Unstructured"
            why = f"the requested object is not a list (*{kind})"
            raise NotAcceptable(f"you requested {form}, but {why}")
        case _:
            # a Scale has no other versions
            same = body.get("kind") == call.resource.kind.name
            return call.resource.to_wire(body) if same else body


def _list_form(call: Call, metadata: Body) -> _ListForm:
    resource = call.resource
    match call.media.as_:
        case "PartialObjectMetadata" as form:
            package = internal_package(resource.api_version)
            kind_of_list = f"{package}.{resource.list_kind}"
            if resource.custom is not None:
                kind_of_list = "unstructured.UnstructuredList"
            why = f"the requested object is a list (*{kind_of_list})"
            raise NotAcceptable(f"you requested {form}, but {why}")
        case "Table":
            kind, version = resource.kind, call.media.version
            cells = tables.row_of(kind, _included(call), version, call.cluster.now())
            is_null = kind.columns == DEFAULT_COLUMNS
            return _ListForm(tables.table(kind, metadata, version), "rows", cells, is_null)
        case "PartialObjectMetadataList" as form:
            version = call.media.version
            envelope = {
                "kind": form,
                "apiVersion": f"meta.k8s.io/{version}",
                "metadata": metadata,
                "items": [],
            }
            return _ListForm(envelope, "items", lambda body: tables.partial(body, version), True)
        case _:
            envelope = {
                "kind": resource.list_kind,
                "apiVersion": resource.api_version,
                "metadata": metadata,
                "items": [],
            }
            if resource.custom is not None:
                # their lists are not typed: each item names its type, and no field is left out
                envelope["metadata"] = {"continue": "", **metadata}
                return _ListForm(envelope, "items", resource.to_wire)
            return _ListForm(envelope, "items", lambda body: _strip_type(resource.to_wire(body)))


def _table(call: Call, body: Body, *, definitions: bool = True) -> Body:
    """The Table of one object."""
    kind, version = call.resource.kind, call.media.version
    if body.get("apiVersion") == "autoscaling/v1" and body["kind"] == "Scale":
        kind = tables.SCALE
    row = tables.row_of(kind, _included(call), version, call.cluster.now())(body)
    return {**tables.table(kind, _version(body), version, definitions=definitions), "rows": [row]}


def _included(call: Call) -> str:
    return tables.include_object(call.query.get("includeObject", ""))


def _version(body: Body) -> Body:
    version = body["metadata"].get("resourceVersion")
    return {"resourceVersion": version} if version else {}


def _strip_type(body: Mapping[str, Any]) -> Body:
    return {name: value for name, value in body.items() if name not in ("kind", "apiVersion")}


def _warning(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    printable = "".join(char if char.isprintable() else " " for char in escaped)
    return f'299 - "{printable}"'.encode("ascii", "replace").decode()

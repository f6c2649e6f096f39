"""What mutating policies and webhooks see of an object, and what is stored after them.

They see the object with its defaults, before the server sets its uid, its times and the status of
a new one. What they make of it is admitted again, as if the client had sent it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.admission.defaulting import set_defaults
from apps.cluster.custom.admission import decode_custom
from apps.cluster.errors import BadRequest, InternalError
from apps.cluster.kinds import Kind
from apps.cluster.ownership.managers import read_entries
from apps.cluster.ownership.paths import UnreadableFields
from apps.cluster.schema import ShapeError, decode, definition_of

Body = dict[str, Any]

_SET_LATER: Final = ("uid", "creationTimestamp", "generation", "resourceVersion")


def view_of_new(kind: Kind, sent: Body, admitted: Body) -> Body:
    """A new object as it is admitted, without what the server sets after mutations."""
    metadata = {k: v for k, v in admitted["metadata"].items() if k not in _SET_LATER}
    if not sent["metadata"].get("name"):
        metadata.pop("name", None)
    return _with_status(kind, sent, {**admitted, "metadata": metadata})


def view_of_update(kind: Kind, sent: Mapping[str, Any], admitted: Body, part: str) -> Body:
    """An update as it is admitted, with the metadata and the status that the client sends."""
    given = sent.get("metadata") or {}
    kept = (*given, "name", "namespace", "managedFields")
    metadata = {k: v for k, v in admitted["metadata"].items() if k in kept}
    for name in _SET_LATER:
        if given.get(name):
            metadata[name] = given[name]
    view = {**admitted, "metadata": metadata}
    return view if part else _with_status(kind, sent, view)


def _with_status(kind: Kind, sent: Mapping[str, Any], view: Body) -> Body:
    if not (kind.has_status or kind.initial_status):
        return view
    typed = {**sent, "apiVersion": view["apiVersion"], "kind": view["kind"]}
    draft = normalize(kind, typed)
    if not kind.schema_name:
        draft.setdefault("status", {})
    view = {name: value for name, value in view.items() if name != "status"}
    return {**view, "status": draft["status"]} if "status" in draft else view


def normalize(kind: Kind, body: Mapping[str, Any]) -> Body:
    """An object that was changed, as one of its kind: without unknown fields, with defaults.

    Raises InternalError if it is none of its kind any more.
    """
    if (body.get("apiVersion"), body.get("kind")) != (kind.api_version, kind.name):
        raise InternalError(
            f"a mutation may not change the type of an object: it is {kind.api_version}, "
            f"Kind={kind.name}"
        )
    try:
        if kind.schema_name:
            return decode_custom(kind, body)
        draft = decode(definition_of(kind.group, kind.version, kind.name), dict(body)).body
    except ShapeError as error:
        raise InternalError(error.message) from error
    draft.setdefault("metadata", {})
    set_defaults(kind, draft)
    return draft


def restamp(stamped: Body, mutated: Mapping[str, Any]) -> Body:
    """A mutated new object with what the server has set; BadRequest in another namespace."""
    metadata = dict(mutated.get("metadata") or {})
    before = stamped["metadata"]
    if metadata.get("namespace", "") != before.get("namespace", ""):
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    metadata |= {name: before[name] for name in _SET_LATER if name in before}
    return {**mutated, "metadata": metadata}


def keep_owners(body: Body, owners: list[Body] | None) -> Body:
    """The object with its own managedFields if they are valid, else with those it had before."""
    given = body["metadata"].get("managedFields")
    if given == owners:
        return body
    metadata = {k: v for k, v in body["metadata"].items() if k != "managedFields"}
    if given:
        try:
            read_entries(given)
        except UnreadableFields:
            given = owners
        metadata["managedFields"] = given
    return {**body, "metadata": metadata}

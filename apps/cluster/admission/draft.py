"""The body that admission changes: a copy that has the shape of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.cluster.errors import BadRequest, Forbidden, qualified
from apps.cluster.schema import ShapeError, decode, definition_of

Body = dict[str, Any]


def draft_of(kind: str, body: Mapping[str, Any]) -> Body:
    """A deep copy of `body` without nulls and unknown fields; BadRequest names a wrong field."""
    api_version = str(body.get("apiVersion") or "")
    group, _, version = api_version.rpartition("/")
    try:
        definition = definition_of(group, version, kind)
    except KeyError as error:
        raise BadRequest(
            f'{kind} in version "{version}" cannot be handled as a {kind}: no kind "{kind}" is '
            f'registered for version "{api_version}"'
        ) from error
    try:
        draft = decode(definition, dict(body)).body
    except ShapeError as error:
        raise undecodable(kind, version, error.message) from error
    draft.setdefault("metadata", {})
    return draft


def definition_of_body(body: Mapping[str, Any]) -> str:
    """The name of the definition of an object, by its type; KeyError if there is none."""
    group, _, version = str(body.get("apiVersion") or "").rpartition("/")
    return definition_of(group, version, body["kind"])


def undecodable(kind: str, version: str, why: str) -> BadRequest:
    """The error for a body that does not have the shape of its kind."""
    return BadRequest(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')


def forbidden(plural: str, name: str, why: str, group: str = "") -> Forbidden:
    """The error of an admission plugin: `pods "p1" is forbidden: <why>`."""
    about = {"name": name, **({"group": group} if group else {}), "kind": plural}
    return Forbidden(f'{qualified(plural, group)} "{name}" is forbidden: {why}', details=about)


def child(parent: Body, name: str) -> Body:
    """The object at `name`, created if it is absent."""
    inner: Body = parent.setdefault(name, {})
    return inner


def drop_empty(parent: Body, *names: str) -> None:
    """Remove members with the zero value of their type, which the API does not write."""
    for name in names:
        if name in parent and not parent[name]:
            del parent[name]


def write_missing(parent: Body, *names: str) -> None:
    """Set missing lists to null, as the API writes those that it never leaves out."""
    for name in names:
        parent.setdefault(name, None)


def write_empty(draft: Body) -> None:
    """Set lists without an entry to null, as they are read from storage."""
    for parent in (draft, draft.get("spec")):
        if type(parent) is dict:
            for name, value in parent.items():
                if value == []:
                    parent[name] = None

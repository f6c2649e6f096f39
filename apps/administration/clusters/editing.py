"""Replaces an object as a person has edited it: everything that was typed is stored, or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction

from apps.cluster import kinds
from apps.cluster.admission.fields import check_fields
from apps.cluster.errors import ApiError, Cause, Invalid
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Update
from apps.cluster.writing import store

Body = dict[str, Any]

_ABSENT: Any = object()


def edit(
    cluster: Cluster, kind: Kind, namespace: str, name: str, body: Body, *, actor: Actor
) -> Body:
    """Replace an object, and the status of a node; returns it as stored.

    Raises Invalid, with a cause for each field, if `body` has unknown fields or differs from the
    stored object in fields that an edit does not change: its identity, and the status of other
    kinds. A `body` without a status leaves the status unchanged. Raises Conflict if the object was
    updated in the meantime. Nothing is written then.
    """
    check_fields(kind, body)
    before: list[Body] = []

    def replace(old: Body) -> Body:
        before.append(old)
        return body

    writes = [Update(kind, namespace, name, replace)]
    if kind is kinds.NODE and "status" in body:
        writes.append(Update(kind, namespace, name, lambda _: body, "status"))
    asked = store.ask(cluster, writes, actor=actor)
    with transaction.atomic():
        outcomes = store.write(cluster, asked, actor=actor)
        stored = outcomes[-1]
        assert not isinstance(stored, ApiError)
        causes = [
            Cause("FieldValueForbidden", _explain(kind, path, stored), path)
            for path in _lost_edits(body, before[0], stored)
        ]
        if causes:
            raise Invalid(kind.name, name, causes, kind.group)
    return stored


def _lost_edits(edited: Body, before: Body, stored: Body) -> Iterator[str]:
    """The paths of the values that were edited and not stored."""
    changed = set(_missing("", edited, before))
    for path in _missing("", edited, stored):
        if path in changed or any(_is_inside(path, each) for each in changed):
            yield path


def _missing(path: str, wanted: Any, present: Any) -> Iterator[str]:
    """The paths of the innermost values of `wanted` that `present` does not have."""
    if isinstance(wanted, Mapping) and isinstance(present, Mapping):
        for key, value in wanted.items():
            inner = f"{path}.{key}" if path else str(key)
            yield from _missing(inner, value, present.get(key, _ABSENT))
    elif _is_list(wanted) and _is_list(present) and len(wanted) == len(present):
        for number, (one, other) in enumerate(zip(wanted, present, strict=True)):
            yield from _missing(f"{path}[{number}]", one, other)
    elif present is _ABSENT and not wanted:
        # null and empty values are not stored
        return
    elif wanted != present:
        yield path


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_inside(path: str, outer: str) -> bool:
    return path.startswith((f"{outer}.", f"{outer}["))


def _explain(kind: Kind, path: str, stored: Body) -> str:
    if path == "status" or _is_inside(path, "status"):
        return f"the status of a {kind.name} is written by the components of the cluster"
    value: Any = stored
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return "cannot be changed" if value is None else f"cannot be changed, it remains {value}"

"""Validation: the invalid fields of an object, in the words of Kubernetes 1.36.

`validate` is the one entry. It expects bodies that went through `apps.cluster.admission.admit`, so
that every field has its type and its default, and reads nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from apps.cel.effort import Effort
from apps.cluster.errors import Cause
from apps.cluster.kind import Kind
from apps.cluster.validation.gates import use_gates
from apps.cluster.validation.metadata import validate_metadata, validate_metadata_update

__all__ = ["validate"]

Body = Mapping[str, Any]


def validate(
    kind: Kind,
    body: Body,
    old: Body | None = None,
    *,
    subresource: str = "",
    gates: Collection[str] = (),
) -> list[Cause]:
    """The invalid fields of a new object, or of an update of `old`; empty if it is valid.

    `gates` are the feature gates of `API_GATES` that are on.
    """
    with use_gates(gates, old), Effort().shared():
        return _find_causes(kind, body, old, subresource)


def _find_causes(kind: Kind, body: Body, old: Body | None, subresource: str) -> list[Cause]:
    if old is None:
        causes = list(validate_metadata(kind, body["metadata"]))
        for rule in (kind.validate, kind.validate_new):
            causes += rule(body) if rule is not None else ()
        return causes
    metadata, before = body["metadata"], old["metadata"]
    causes = list(validate_metadata_update(kind, metadata, before, subresource))
    if subresource == "status":
        update = kind.validate_status
    else:
        update = kind.validate_parts.get(subresource, kind.validate_update)
        if kind.validate is not None and not kind.compares_updates:
            causes += kind.validate(body)
    if update is not None:
        causes += update(body, old)
    return causes

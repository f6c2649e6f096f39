"""Renders objects as the tables that `kubectl get` prints; the server defines the columns."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from apps.api.kubernetes.column_definitions import definitions_of
from apps.cluster import kinds
from apps.cluster.errors import BadRequest
from apps.cluster.kinds import Kind
from apps.cluster.tables.columns import AGE, Column, path
from apps.cluster.tables.pods import row_conditions

__all__ = ["INCLUDE", "Column", "include_object", "partial", "table"]

Body = dict[str, Any]

_GROUP = "meta.k8s.io"
_FIELD_ANNOTATION = "deprecated.daemonset.template.generation"
#: What the subresource `scale` of all kinds shows.
SCALE = Kind(
    "Scale",
    "scales",
    group="autoscaling",
    columns=(
        Column("Name", path("metadata", "name")),
        Column("Desired", path("spec", "replicas", default=0), "integer"),
        Column("Available", path("status", "replicas", default=0), "integer"),
        AGE,
    ),
)
INCLUDE = ("None", "Metadata", "Object")


def include_object(value: str) -> str:
    """The parameter includeObject; BadRequest if it is invalid."""
    if value and value not in INCLUDE:
        raise BadRequest(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{value}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    return value or "Metadata"


def table(kind: Kind, metadata: Body, version: str, *, definitions: bool = True) -> Body:
    """A Table without rows in a version of meta.k8s.io; later watch events have no definitions."""
    return {
        "kind": "Table",
        "apiVersion": f"{_GROUP}/{version}",
        "metadata": metadata,
        "columnDefinitions": definitions_of(kind) if definitions else None,
        "rows": [],
    }


def row_of(kind: Kind, include: str, version: str, now: datetime) -> Callable[[Body], Body]:
    """A function that returns the row of an object in stored form."""
    columns = kind.columns

    def row(body: Body) -> Body:
        cells: Body = {"cells": [column.cell(body, now) for column in columns]}
        if kind is kinds.POD and (conditions := row_conditions(body)):
            cells["conditions"] = conditions
        cells["object"] = _object_of_row(_without_field_annotation(kind, body), include, version)
        return cells

    return row


def partial(body: Body, version: str) -> Body:
    """Only the metadata of an object, in a version of meta.k8s.io."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"{_GROUP}/{version}",
        "metadata": body["metadata"],
    }


def _without_field_annotation(kind: Kind, body: Body) -> Body:
    """Without the annotation that is a field of the API server's own form of a DaemonSet."""
    annotations = body["metadata"].get("annotations") or {}
    if kind.name != "DaemonSet" or _FIELD_ANNOTATION not in annotations:
        return body
    others = {name: value for name, value in annotations.items() if name != _FIELD_ANNOTATION}
    metadata = {**body["metadata"], "annotations": others}
    if not others:
        del metadata["annotations"]
    return {**body, "metadata": metadata}


def _object_of_row(body: Body, include: str, version: str) -> Body | None:
    if include == "None":
        return None
    return body if include == "Object" else partial(body, version)

"""Renders objects as the tables that `kubectl get` prints; the server defines the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from apps.cluster.errors import BadRequest
from apps.controlplane.tables.columns import Column
from apps.controlplane.tables.kinds import COLUMNS, DEFAULT, row_conditions

__all__ = ["INCLUDE", "Column", "include_object", "partial", "table"]

Body = dict[str, Any]

META = "meta.k8s.io/v1"
INCLUDE = ("None", "Metadata", "Object")


def include_object(value: str) -> str:
    """The parameter includeObject; BadRequest if it is invalid."""
    if value and value not in INCLUDE:
        raise BadRequest(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{value}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    return value or "Metadata"


def table(kind: str, metadata: Body, *, definitions: bool = True) -> Body:
    """A Table without rows; without `definitions` as in later watch events."""
    columns = COLUMNS.get(kind, DEFAULT)
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": metadata,
        "columnDefinitions": [column.definition() for column in columns] if definitions else None,
        "rows": [],
    }


def row_of(kind: str, include: str, now: datetime) -> Callable[[Body], Body]:
    """A function that returns the row of an object in stored form."""
    columns = COLUMNS.get(kind, DEFAULT)
    return lambda body: _row(kind, columns, body, include, now)


def partial(body: Body) -> Body:
    """Only the metadata of an object."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": body["metadata"]}


def _row(kind: str, columns: Sequence[Column], body: Body, include: str, now: datetime) -> Body:
    row: Body = {"cells": [column.cell(body, now) for column in columns]}
    if conditions := row_conditions(kind, body):
        row["conditions"] = conditions
    row["object"] = {"None": None, "Metadata": partial(body), "Object": body}[include]
    return row

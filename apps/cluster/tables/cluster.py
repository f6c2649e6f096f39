"""Columns of the kinds of the cluster itself, but for nodes and events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from apps.cluster.tables.columns import (
    AGE,
    NAME,
    Body,
    Column,
    get,
    path,
)


def _health(field: str, words: Mapping[str, str] = {}) -> Callable[[Body, datetime], str]:
    """A field of the condition Healthy, or the word for its value."""

    def cell(component: Body, now: datetime) -> str:
        for condition in get(component, "conditions", default=[]):
            if condition["type"] == "Healthy":
                value = str(condition.get(field, ""))
                return words.get(value, value)
        return ""

    return cell


COMPONENT_STATUSES: Final = (
    NAME,
    Column("Status", _health("status", {"True": "Healthy", "False": "Unhealthy"})),
    Column("Message", _health("message")),
    Column("Error", _health("error")),
)
LEASES: Final = (NAME, Column("Holder", path("spec", "holderIdentity")), AGE)
NAMESPACES: Final = (NAME, Column("Status", path("status", "phase")), AGE)
RUNTIME_CLASSES: Final = (NAME, Column("Handler", path("handler")), AGE)

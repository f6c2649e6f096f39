"""The lookups that admission needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

Body = dict[str, Any]


class Lookups(Protocol):
    """Looks up other objects of the cluster; None if there is none."""

    def namespace(self, name: str) -> Body | None:
        """The namespace of this name."""

    def priority_class(self, name: str) -> Body | None:
        """The PriorityClass of this name."""

    def default_priority_class(self) -> Body | None:
        """The PriorityClass for pods without one; the smallest value if there are several."""

    def runtime_class(self, name: str) -> Body | None:
        """The RuntimeClass of this name."""

    def workload(self, namespace: str, name: str) -> Body | None:
        """The Workload of this name."""

    def limit_ranges(self, namespace: str) -> Sequence[Body]:
        """The LimitRanges of a namespace, by name."""

    def default_storage_class(self) -> Body | None:
        """The StorageClass for claims without one; the newest if there are several."""

"""What admission asks of the cluster."""

from __future__ import annotations

from typing import Any, Protocol

Body = dict[str, Any]


class Lookups(Protocol):
    """Answers about other objects of the cluster; None when there is none."""

    def namespace(self, name: str) -> Body | None:
        """The namespace of this name."""

    def priority_class(self, name: str) -> Body | None:
        """The PriorityClass of this name."""

    def default_priority_class(self) -> Body | None:
        """The PriorityClass for pods that name none: of several, the one with the least value."""

    def runtime_class(self, name: str) -> Body | None:
        """The RuntimeClass of this name."""

    def default_storage_class(self) -> Body | None:
        """The StorageClass for claims that name none: of several, the newest."""

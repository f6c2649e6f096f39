"""Whether an object belongs to what a reader asked for, decided on its body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.cluster.kinds import Kind
from apps.cluster.selectors import field_value, label_requirements, parse_field_selector


class Matcher:
    """A namespace (None: all), a labelSelector and a fieldSelector of one kind.

    Raises BadRequest for a selector that cannot be read.
    """

    def __init__(
        self, kind: Kind, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> None:
        self.namespace = namespace
        self._labels = label_requirements(labels)
        self._fields = parse_field_selector(kind, fields)

    @property
    def selective(self) -> bool:
        """Whether a change of an object can make it match no longer."""
        return bool(self._labels or self._fields)

    def matches(self, body: Mapping[str, Any]) -> bool:
        """Whether the object as it is in `body` was asked for."""
        metadata = body["metadata"]
        if self.namespace is not None and metadata.get("namespace", "") != self.namespace:
            return False
        labels = metadata.get("labels") or {}
        return all(requirement.matches(labels) for requirement in self._labels) and all(
            (field_value(body, term.path) == term.value) == term.equal for term in self._fields
        )

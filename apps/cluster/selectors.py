"""Parses label and field selectors and matches them against objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.cluster.errors import BadRequest
from apps.cluster.kind import Kind
from apps.scheduler.labels import Requirement, SelectorError, parse_selector

#: Fields whose absence does not mean the empty string.
FIELD_DEFAULTS = {
    "spec.unschedulable": "false",
    "spec.hostNetwork": "false",
    "status.replicas": "0",
}


#: Fields that have another name in the object.
FIELD_PATHS = {"source": "source.component"}


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One term of a fieldSelector: `path=value` or `path!=value`."""

    path: str
    value: str
    equal: bool


def parse_field_selector(kind: Kind, text: str) -> list[FieldRequirement]:
    """The terms of a fieldSelector; BadRequest for a field that this kind does not support."""
    terms = []
    for term in filter(None, (part.strip() for part in text.split(","))):
        for operator in ("!=", "==", "="):
            path, found, value = term.partition(operator)
            if found:
                break
        else:
            raise BadRequest(f"invalid selector: '{text}'; can't understand '{term}'")
        path = path.strip()
        if path not in ("metadata.name", "metadata.namespace", *kind.fields):
            raise _unknown_field(kind, path)
        terms.append(FieldRequirement(path, value.strip(), operator != "!="))
    return terms


def label_requirements(text: str) -> Sequence[Requirement]:
    """The requirements of a labelSelector; BadRequest if it is invalid."""
    try:
        return parse_selector(text).requirements
    except SelectorError as error:
        raise BadRequest(str(error)) from error


def _unknown_field(kind: Kind, path: str) -> BadRequest:
    if kind.fields:
        return BadRequest(f"field label not supported: {path}")
    return BadRequest(
        f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )


def field_value(body: Mapping[str, Any], path: str) -> str:
    """The value a fieldSelector compares, as text."""
    value: Any = body
    for step in FIELD_PATHS.get(path, path).split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if value is None:
        return FIELD_DEFAULTS.get(path, "")
    return str(value).lower() if isinstance(value, bool) else str(value)


class Matcher:
    """A namespace (None: all), a labelSelector and a fieldSelector of one kind.

    Raises BadRequest for an invalid selector.
    """

    def __init__(
        self, kind: Kind, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> None:
        self.namespace = namespace
        self._labels = label_requirements(labels)
        self._fields = parse_field_selector(kind, fields)

    @property
    def selective(self) -> bool:
        """Whether an object that matches can stop matching after a change."""
        return bool(self._labels or self._fields)

    def matches(self, body: Mapping[str, Any]) -> bool:
        """Whether the object matches."""
        metadata = body["metadata"]
        if self.namespace is not None and metadata.get("namespace", "") != self.namespace:
            return False
        labels = metadata.get("labels") or {}
        return all(requirement.matches(labels) for requirement in self._labels) and all(
            (field_value(body, term.path) == term.value) == term.equal for term in self._fields
        )

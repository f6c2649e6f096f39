"""Parses label and field selectors and matches them against objects."""

from __future__ import annotations

import json
import re
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


#: What commas separate; one after a backslash belongs to the term.
_FIELD_TERM = re.compile(r"(?:[^,\\]|\\.|\\$)+", re.DOTALL)
_FIELD_OPERATOR = re.compile("!=|==|=")
_FIELD_VALUE = re.compile(r"(?:[^,=\\]|\\[,=\\])*+")

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
    # a term without a field and a value selects everything
    terms = [each for each in split_field_selector(text) if each.path or each.value]
    for term in terms:
        if term.path not in ("metadata.name", "metadata.namespace", *kind.fields):
            raise _unknown_field(kind, term.path)
    return terms


def names_one(kind: Kind, namespace: str | None, fields: str) -> bool:
    """Whether a fieldSelector in a namespace (None: all) requires the name of one object."""
    return (namespace is not None or not kind.namespaced) and any(
        term.path == "metadata.name" and term.equal for term in split_field_selector(fields)
    )


def split_field_selector(text: str) -> list[FieldRequirement]:
    """The terms of a fieldSelector, of any field; BadRequest if one is none.

    They are read in alphabetical order, as the API server reads them.
    """
    return [_field_requirement(text, term) for term in sorted(_FIELD_TERM.findall(text)) if term]


def _field_requirement(text: str, term: str) -> FieldRequirement:
    operator = _FIELD_OPERATOR.search(term)
    if operator is None:
        raise BadRequest(f"invalid selector: '{text}'; can't understand '{term}'")
    value = _unescaped(term[operator.end() :])
    return FieldRequirement(term[: operator.start()], value, operator[0] != "!=")


def _unescaped(value: str) -> str:
    r"""A value in which `\,`, `\=` and `\\` stand for the character after the backslash."""
    wrong = _FIELD_VALUE.match(value)
    at = wrong.end() if wrong else 0
    if at == len(value):
        return re.sub(r"\\(.)", r"\1", value)
    if value[at] == "\\":
        raise BadRequest(f"invalid field selector: invalid escape sequence: {value[at : at + 2]}")
    code = ord(value[at])
    raise BadRequest(f"invalid field selector: unescaped character in value: {code}")


def label_requirements(text: str) -> Sequence[Requirement]:
    """The requirements of a labelSelector; BadRequest if it is invalid."""
    try:
        return parse_selector(text).requirements
    except SelectorError as error:
        raise BadRequest(str(error)) from error


def _unknown_field(kind: Kind, path: str) -> BadRequest:
    match kind.name:
        case "Job":
            return BadRequest(f'field label "{path}" not supported for Job')
        case "ResourceSlice":
            served = f"{kind.group}/{kind.version}, Kind={kind.name}"
            return BadRequest(f"field label not supported for {served}: {path}")
    if kind.fields or kind.definition_name:
        return BadRequest(f"field label not supported: {path}")
    return BadRequest(
        f"{json.dumps(path, ensure_ascii=False)} is not a known field selector: only "
        '"metadata.name", "metadata.namespace"'
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

"""Refuses fields that a kind does not have, where a person wrote the object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.cluster.errors import Cause, Invalid
from apps.cluster.kind import Kind
from apps.cluster.schema import ShapeError, decode, definition_of


def check_fields(kind: Kind, body: Mapping[str, Any]) -> None:
    """Raise Invalid with a cause for each unknown field, or for the first one of a wrong type."""
    group, _, version = kind.api_version.rpartition("/")
    try:
        definition = kind.schema_name or definition_of(group, version, kind.name)
        unknown = decode(definition, dict(body)).unknown
        causes = [Cause("FieldValueInvalid", "unknown field", path) for path in unknown]
    except ShapeError as error:
        why = error.message.removeprefix(f"{error.field}: ")
        causes = [Cause("FieldValueTypeInvalid", why, error.field)]
    if causes:
        metadata = body.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        raise Invalid(kind.name, str(name or ""), causes, kind.group)

"""What the API server does to a custom resource before it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from apps.cluster.admission.defaulting import default_metadata
from apps.cluster.admission.draft import undecodable
from apps.cluster.admission.names import generate_name
from apps.cluster.errors import Cause
from apps.cluster.kinds import Kind
from apps.cluster.ownership.creation import own_created
from apps.cluster.schema import ShapeError, decode
from apps.cluster.schema.definitions import structural
from apps.cluster.schema.pruning import set_defaults
from apps.cluster.validation.causes import invalid
from apps.cluster.validation.custom_objects import validate_custom
from apps.cluster.validation.custom_rules import apply_rules, has_rules
from apps.cluster.validation.metadata import validate_metadata, validate_metadata_update

Body = dict[str, Any]

#: With such a fault, the rules might fail for reasons that have nothing to do with them.
_BLOCKING: Final = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
#: Numbers from here on are written with an exponent.
_FIRST_EXPONENT: Final = 1e21
_NOT_CHECKED: Final = Cause(
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
    "<nil>",
)


def admit_custom(kind: Kind, body: Mapping[str, Any], old: Mapping[str, Any] | None) -> Body:
    """The object to validate and store: pruned, named and with its defaults."""
    if old is None and kind.has_status:
        # of the status of a new object, defaults alone remain
        body = {name: value for name, value in body.items() if name != "status"}
    try:
        draft = decode_custom(kind, body)
    except ShapeError as error:
        raise undecodable(kind.name, kind.version, error.message) from error
    metadata = draft["metadata"]
    if old is None:
        generate_name(metadata)
    default_metadata(metadata)
    if old is None:
        own_created(draft, kind.schema_name, kind)
    return draft


def decode_custom(kind: Kind, body: Mapping[str, Any]) -> Body:
    """An object of a custom kind, pruned and with its defaults; raises ShapeError."""
    draft = decode(kind.schema_name, dict(body)).body
    draft.setdefault("metadata", {})
    rest = {name: value for name, value in draft.items() if name != "metadata"}
    set_defaults(structural(kind.schema_name), rest)
    draft |= rest
    return draft


def validate_custom_object(kind: Kind, body: Body, old: Body | None) -> list[Cause]:
    """The invalid fields of a custom resource."""
    if old is None:
        causes = list(validate_metadata(kind, body["metadata"]))
    else:
        causes = list(validate_metadata_update(kind, body["metadata"], old["metadata"]))
    if body["kind"] != kind.name:
        causes.append(wrong_kind(kind, body["kind"]))
    schema = structural(kind.schema_name)
    causes += validate_custom(schema, body, old)
    if not _has_rules(kind.schema_name):
        return causes
    if any(each.reason in _BLOCKING for each in causes):
        return [*causes, _NOT_CHECKED]
    return [*causes, *apply_rules(schema, body, old)]


def wrong_kind(kind: Kind, said: str) -> Cause:
    """An object of another kind than its path says."""
    return invalid("kind", said, f"must be {kind.name}")


def stored_form(value: Any) -> Any:
    """A value as Go writes it: a whole number has no fraction, however the client wrote it."""
    match value:
        case dict():
            return {name: stored_form(item) for name, item in value.items()}
        case list():
            return [stored_form(item) for item in value]
        case float() if value.is_integer() and abs(value) < _FIRST_EXPONENT:
            return int(value)
    return value


@lru_cache(maxsize=256)
def _has_rules(schema_name: str) -> bool:
    return has_rules(structural(schema_name))

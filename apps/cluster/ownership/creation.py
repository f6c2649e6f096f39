"""What the creator of an object owns: every field that it sends or that is a default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from apps.cluster.kind import Kind
from apps.cluster.ownership.field_paths import children, fits
from apps.cluster.ownership.managers import UNOWNED_METADATA
from apps.cluster.ownership.shapes import Shape, struct
from apps.cluster.schema.definitions import DEFINITIONS, is_custom

Body = dict[str, Any]

_SELF: Final[Body] = {".": {}}
_UNOWNED: Final = frozenset(("apiVersion", "kind", "metadata"))


def own_created(body: Body, definition: str, kind: Kind) -> None:
    """Write the fields of a new object into the entry of its creator, before admission plugins.

    What plugins and the server add later belongs to no one. An entry that has fields stays.
    """
    metadata = body["metadata"]
    entries = metadata.get("managedFields")
    if not entries or entries[0]["fieldsV1"]:
        return
    fields = metadata_fields(metadata)
    if not kind.is_unowned:
        fields |= part_fields(body, definition, has_status=kind.has_status or not kind.schema_name)
    set_fields(metadata, fields)


def set_fields(metadata: Body, fields: Body) -> None:
    """Write the fields of the creator; a creator of nothing has no entry."""
    if fields:
        metadata["managedFields"][0]["fieldsV1"] = fields
    else:
        del metadata["managedFields"]


def metadata_fields(metadata: Body) -> Body:
    """The part of fieldsV1 for the metadata of a new object; empty if it has none."""
    owned = {name: value for name, value in metadata.items() if name not in UNOWNED_METADATA}
    if not owned:
        return {}
    return {"f:metadata": dict(_below(owned, struct(_METADATA), {}))}


def part_fields(body: Body, definition: str, *, has_status: bool) -> Body:
    """The parts of fieldsV1 beside the metadata."""
    parts = {
        name: value
        for name, value in body.items()
        if name not in _UNOWNED and not (has_status and name == "status")
    }
    present = {} if is_custom(definition) else _zeros(definition)
    return dict(_below(parts, struct(definition), present))


def _below(value: Any, shape: Shape, present: Mapping[str, Any]) -> Iterator[tuple[str, Body]]:
    """The fields in an object, of which an empty one has those that are `present`."""
    for element, item, inner in children(value, shape, ()):
        zero = present.get(element[2:])
        if isinstance(zero, Mapping) and item is None:
            # a list is null where there is none
            continue
        if zero is None or (isinstance(zero, Mapping) and not fits(item, inner)):
            yield element, _added(item, inner)
        elif isinstance(zero, Mapping):
            # a structure that is always present has no owner itself, only its fields
            owned = dict(_below(item, inner, zero))
            if owned or item == []:
                yield element, owned
        elif item != zero.empty:
            yield element, {}


def _added(value: Any, shape: Shape) -> Body:
    """A value that is new as a whole: it and everything in it is owned."""
    if shape.form == "single" or not value or not fits(value, shape):
        return {}
    below = {
        element: {} if shape.form == "set" else _added(item, inner)
        for element, item, inner in children(value, shape, ())
    }
    return {**_SELF, **below}


_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
#: Fields that are required, and yet missing in an empty object.
_OMITTED: Final = frozenset(("validationActions",))


@dataclass(frozen=True, slots=True)
class _Empty:
    """The value of a field that is always present; it has an owner only if it differs from this."""

    empty: Any


@cache
def _zeros(definition: str) -> Mapping[str, Any]:
    """The fields that an object of this definition has even when it is empty.

    With the fields in them, if they are structures or lists.
    """
    schema = DEFINITIONS[definition]
    required = set(schema.get("required", ())) - _OMITTED
    zeros: Body = {}
    for name, field in schema.get("properties", {}).items():
        inner = struct(definition).field(name)
        if inner.form == "struct" and field.get("default") == {}:
            zeros[name] = _zeros(inner.definition)
        elif inner.form in ("list", "map", "set") and name in required:
            zeros[name] = {}
        elif inner.form == "single" and not field.get("default", True):
            # other defaults are set, which makes them the creator's
            zeros[name] = _Empty(field["default"])
        elif inner.form == "single":
            zeros[name] = _Empty(None)
    return zeros

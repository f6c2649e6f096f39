"""The OpenAPI definitions, and their rules for merging."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

Schema = Mapping[str, Any]

RELEASE = "1.36"
_FILE = Path(__file__).with_name(f"kubernetes-{RELEASE}.json.gz")
#: The definitions of the metrics-server.
_METRICS = Path(__file__).with_name("metrics-v1beta1.json")
_GVK = "x-kubernetes-group-version-kind"


class _Definitions(Mapping[str, Schema]):
    """Definitions by full name, read from the data file on first use."""

    def __getitem__(self, name: str) -> Schema:
        schema = _custom.get(name)
        return _load()[name] if schema is None else schema

    def __iter__(self) -> Any:
        return iter(_load())

    def __len__(self) -> int:
        return len(_load())


#: The definitions of custom resources, and the schema of each of them in one piece.
_custom: dict[str, Schema] = {}
_structural: dict[str, Schema] = {}


def register(name: str, schema: Schema, definitions: Mapping[str, Schema]) -> None:
    """Add the definitions of a custom resource called `name`; `schema` is its structural schema.

    The name depends on the content, so that registering it again changes nothing.
    """
    if name not in _structural:
        _custom.update(definitions)
        _structural[name] = schema


def structural(name: str) -> Schema:
    """The structural schema of a custom resource; raises KeyError if there is none of this name."""
    return _structural[name]


def published(name: str) -> Schema:
    """A definition as clients read it: that of a custom resource in one piece.

    `kubectl explain` shows a reference by its name, and `Object` for what is in place.
    """
    if name not in _structural:
        return DEFINITIONS[name]
    fields = {**(_structural[name].get("properties") or {}), **_type_fields()}
    return {**_custom[name], "properties": fields}


@cache
def _type_fields() -> dict[str, Schema]:
    """The fields that every object has, with their descriptions."""
    fields = DEFINITIONS["io.k8s.api.core.v1.ConfigMap"]["properties"]
    metadata = {name: each for name, each in fields["metadata"].items() if name != "default"}
    return {"apiVersion": fields["apiVersion"], "kind": fields["kind"], "metadata": metadata}


def is_custom(name: str) -> bool:
    """Whether a definition is that of a custom resource."""
    return name in _structural


DEFINITIONS: Mapping[str, Schema] = _Definitions()


@cache
def _load() -> dict[str, Schema]:
    release = msgspec.json.decode(gzip.decompress(_FILE.read_bytes()), type=dict[str, Any])
    return release | msgspec.json.decode(_METRICS.read_bytes(), type=dict[str, Any])


@cache
def _by_kind() -> dict[tuple[str, str, str], str]:
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, schema in _load().items()
        for kind in schema.get(_GVK, ())
    }


@cache
def definition_of(group: str, version: str, kind: str) -> str:
    """The full name of a kind's definition; raises KeyError if the release has none."""
    return _by_kind()[group, version, kind]


def reference(schema: Schema) -> str:
    """The name of the definition that a property refers to; "" if it is not a reference."""
    target = schema.get("$ref")
    # among the fields of a JSON schema is one of this name
    return target.rpartition("/")[2] if isinstance(target, str) else ""


@dataclass(frozen=True, slots=True)
class PatchField:
    """How a strategic merge patch treats one field."""

    #: Definition of the field's value, or of its items; "" for plain values and free maps.
    definition: str = ""
    #: Key by which list items are matched; "" for lists of plain values.
    merge_key: str = ""
    merges: bool = False
    retains_keys: bool = False
    replaces: bool = False


NO_FIELD = PatchField()


@cache
def patch_field(definition: str, field: str) -> PatchField:
    """How a strategic merge patch treats `field` of an object of this definition."""
    properties = DEFINITIONS.get(definition, {}).get("properties", {})
    schema = properties.get(field)
    if schema is None:
        return NO_FIELD
    strategies = schema.get("x-kubernetes-patch-strategy", "").split(",")
    return PatchField(
        definition=reference(schema) or reference(schema.get("items", {})),
        merge_key=schema.get("x-kubernetes-patch-merge-key", ""),
        merges="merge" in strategies,
        retains_keys="retainKeys" in strategies,
        replaces="replace" in strategies,
    )

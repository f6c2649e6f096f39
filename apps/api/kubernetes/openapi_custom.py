"""The definitions of custom resources in OpenAPI documents, in the names that clients know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from apps.api.kubernetes.resources import Resource
from apps.cluster.schema.definitions import DEFINITIONS, Schema, published, reference

Body = dict[str, Any]

GVK: Final = "x-kubernetes-group-version-kind"
_SELECTABLE: Final = "x-kubernetes-selectable-fields"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_DELETE_OPTIONS: Final = f"{_META}.DeleteOptions"
_CONVENTIONS: Final = (
    "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
)
#: Of an object within an object.
_EMBEDDED: Final[Body] = {
    "apiVersion": {
        "type": "string",
        "description": "apiVersion defines the versioned schema of this representation of an "
        f"object. {_CONVENTIONS}#resources",
    },
    "kind": {
        "type": "string",
        "description": "kind is a string value representing the type of this object. In "
        f"CamelCase. {_CONVENTIONS}#types-kinds",
    },
    "metadata": {
        "$ref": f"#/components/schemas/{_META}.ObjectMeta",
        "description": f"Standard object's metadata. {_CONVENTIONS}#metadata",
    },
}
#: Groups whose options are known to another server than that of custom resources.
_OTHER_SERVERS: Final = frozenset(
    ("admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io")
)
#: What schemas of v2 cannot say.
_ALTERNATIVES: Final = ("allOf", "anyOf", "oneOf", "not")


def name_of(resource: Resource) -> str:
    """The name of its definition."""
    return f"{_package(resource)}.{resource.kind.name}"


def list_name(resource: Resource) -> str:
    """The name of the definition of its lists."""
    return f"{_package(resource)}.{resource.list_kind}"


def _package(resource: Resource) -> str:
    return ".".join((*reversed(resource.group.split(".")), resource.version))


def definitions(resource: Resource) -> Iterator[tuple[str, Schema]]:
    """The definitions of its objects and of its lists."""
    schema = dict(published(resource.definition))
    fields = _with_fields({"properties": schema["properties"]})["properties"]
    selectable = [{"fieldPath": path} for path in resource.kind.fields]
    said = {_SELECTABLE: selectable} if selectable else {}
    yield name_of(resource), {**schema, "properties": fields, GVK: [_gvk(resource)], **said}
    yield list_name(resource), {**_list(resource), **said}


def delete_options() -> Schema:
    """The definition of the options of deletions, with the groups of the same server."""
    options = DEFINITIONS[_DELETE_OPTIONS]
    known = [each for each in options[GVK] if each["group"] not in _OTHER_SERVERS]
    return {**options, GVK: known}


def _gvk(resource: Resource, kind: str = "") -> Body:
    kind = kind or resource.kind.name
    return {"group": resource.group, "kind": kind, "version": resource.version}


def _list(resource: Resource) -> Schema:
    item = {"$ref": f"#/components/schemas/{name_of(resource)}"}
    config_map = DEFINITIONS["io.k8s.api.core.v1.ConfigMapList"]["properties"]
    return {
        "description": f"{resource.list_kind} is a list of {resource.kind.name}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": config_map["apiVersion"],
            "items": {
                "description": f"List of {resource.plural}. {_CONVENTIONS}",
                "type": "array",
                "items": item,
            },
            "kind": config_map["kind"],
            "metadata": {
                "$ref": f"#/components/schemas/{_META}.ListMeta",
                "description": f"Standard list metadata. {_CONVENTIONS}#types-kinds",
            },
        },
        GVK: [_gvk(resource, resource.list_kind)],
    }


def _with_fields(schema: Any) -> Any:
    """A schema with what objects within it have, and with the types of a number or a text."""
    if not isinstance(schema, Mapping) or reference(schema):
        return schema
    complete = dict(sorted(schema.items()))
    if "properties" in schema:
        complete["properties"] = {
            name: _with_fields(each) for name, each in sorted(schema["properties"].items())
        }
    for part in ("items", "additionalProperties"):
        if part in schema:
            complete[part] = _with_fields(schema[part])
    if schema.get("x-kubernetes-embedded-resource"):
        required = [*schema.get("required", ())]
        required += [name for name in ("kind", "apiVersion") if name not in required]
        properties = {**(complete.get("properties") or {}), **_EMBEDDED}
        complete |= {"required": required, "properties": dict(sorted(properties.items()))}
    if schema.get("x-kubernetes-int-or-string") and "allOf" not in schema:
        complete.setdefault("anyOf", [{"type": "integer"}, {"type": "string"}])
    return complete


def reduced(schema: Schema) -> Schema:
    """A definition of a custom resource in the form of v2, which says less."""
    if reference(schema):
        return schema
    left = {"default", "nullable", *_ALTERNATIVES}
    hidden = ("type", "items", "properties", "additionalProperties")
    if schema.get("nullable") or schema.get("x-kubernetes-preserve-unknown-fields"):
        # old clients would refuse what the schema does not name
        left.update(hidden)
    kept = {name: each for name, each in schema.items() if name not in left}
    if "properties" in kept:
        kept["properties"] = {name: reduced(each) for name, each in kept["properties"].items()}
    for part in ("items", "additionalProperties"):
        if isinstance(kept.get(part), Mapping):
            kept[part] = reduced(kept[part])
    return kept

"""Compiles a CustomResourceDefinition: a kind for each served version."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec
from django.db import connection
from django.db.models import TextField
from django.db.models.functions import Cast

from apps.cluster import kinds, models, sql
from apps.cluster.custom.columns import custom_columns
from apps.cluster.kind import CLIENT_METADATA, Conversion, Kind
from apps.cluster.models import Cluster
from apps.cluster.schema.definitions import register

Body = Mapping[str, Any]

DEFINITION: Final = kinds.by_name("CustomResourceDefinition")
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_ANY: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


@dataclass(frozen=True, slots=True)
class CustomVersion:
    """One served version."""

    kind: Kind
    singular: str
    list_kind: str
    #: The paths of `scale`: replicas in spec and in status, and the selector; None without it.
    scale: tuple[str, str, str] | None
    #: The warning with which requests are answered; "" for a version that is not deprecated.
    deprecation: str = ""


def find_version(cluster_id: int, group: str, version: str, plural: str) -> CustomVersion | None:
    """The served version at a path of a cluster's API; None if there is none."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT body::text FROM {DEFINITION.table} o "
            "WHERE cluster_id = %s AND namespace = '' AND name = %s",
            [cluster_id, f"{plural}.{group}"],
        )
        row = cursor.fetchone()
    compiled = compile_definition(row[0]) if row is not None else ()
    return next((each for each in compiled if each.kind.version == version), None)


def all_versions(cluster: Cluster) -> list[CustomVersion]:
    """All served versions of the custom resources of a cluster, by group, newest first."""
    # as text, as `find_version` reads it: the order of its fields is that of the database
    rows = DEFINITION.objects(cluster).annotate(text=Cast("body", TextField())).order_by("name")
    texts = rows.values_list("text", flat=True)
    return [each for text in texts for each in compile_definition(text)]


def stored_kinds(cluster: Cluster) -> list[Kind]:
    """The kinds of the custom resources of a cluster, each in the version that is stored.

    One whose storage version is not served is in the newest of its others.
    """
    by_key: dict[str, Kind] = {}
    for each in all_versions(cluster):
        kind = each.kind
        assert kind.conversion is not None
        if kind.version == kind.conversion.storage:
            by_key[kind.key] = kind
        else:
            by_key.setdefault(kind.key, kind)
    return list(by_key.values())


def _text(body: Body) -> str:
    return msgspec.json.encode(body, order="sorted").decode()


@lru_cache(maxsize=256)
def compile_definition(text: str) -> tuple[CustomVersion, ...]:
    """The served versions of a CustomResourceDefinition, given as JSON; newest first."""
    body = sql.load_json(text)
    spec = body["spec"]
    conversion = _conversion(spec, (body.get("status") or {}).get("storedVersions") or ())
    served = sorted(
        (each for each in spec["versions"] if each.get("served")),
        key=lambda each: priority_of(each["name"]),
    )
    return tuple(_version(body, conversion, served, each) for each in served)


def _conversion(spec: Body, stored: Sequence[str]) -> Conversion:
    given = spec.get("conversion") or {}
    webhook = given.get("webhook") if given.get("strategy") == "Webhook" else None
    storage = next(each["name"] for each in spec["versions"] if each.get("storage"))
    return Conversion(
        storage,
        tuple(dict.fromkeys((*stored, storage))),
        tuple((each["name"], _register(spec, each)) for each in spec["versions"]),
        "" if webhook is None else _text(webhook),
    )


def priority_of(version: str) -> tuple[int, int, int, str]:
    """The order of versions: v10, v2, v1, v11beta2, v10beta3, v3alpha1, and then other names."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return 3, 0, 0, version
    stage = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return stage, -int(match[1]), -int(match[3] or 0), ""


def _version(
    body: Body, conversion: Conversion, served: Sequence[Body], version: Body
) -> CustomVersion:
    spec, names = body["spec"], body["spec"]["names"]
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    kind = Kind(
        names["kind"],
        names["plural"],
        models.DataObject,
        group=spec["group"],
        version=version["name"],
        other_versions=tuple(
            each["name"]
            for each in sorted(served, key=lambda each: each["name"] != conversion.storage)
            if each["name"] != version["name"]
        ),
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        has_status="status" in subresources,
        status_keeps=CLIENT_METADATA,
        has_generation=True,
        categories=tuple(names.get("categories") or ()),
        fields=tuple(each["jsonPath"][1:] for each in version.get("selectableFields") or ()),
        needs_version=True,
        definition_name=body["metadata"]["name"],
        schema_name=conversion.schema_name(version["name"]),
        conversion=conversion,
        columns=custom_columns(version),
    )
    return CustomVersion(
        kind,
        names.get("singular") or names["kind"].lower(),
        names.get("listKind") or f"{names['kind']}List",
        None
        if scale is None
        else (
            scale["specReplicasPath"],
            scale["statusReplicasPath"],
            scale.get("labelSelectorPath") or "",
        ),
        _deprecation(body, version),
    )


def _deprecation(body: Body, version: Body) -> str:
    if not version.get("deprecated"):
        return ""
    group, kind = body["spec"]["group"], body["spec"]["names"]["kind"]
    default = f"{group}/{version['name']} {kind} is deprecated"
    return str(version.get("deprecationWarning") or default)


def _register(spec: Body, version: Body) -> str:
    """Register the schema of a version as OpenAPI definitions; returns the name of the object's.

    The name depends on the content, so that clusters with the same schema share it.
    """
    schema: Body = (version.get("schema") or {}).get("openAPIV3Schema") or _ANY
    gvk = {"group": spec["group"], "version": version["name"], "kind": spec["names"]["kind"]}
    digest = hashlib.sha256(msgspec.json.encode([gvk, schema], order="sorted")).hexdigest()[:16]
    name = f"custom.{digest}.{gvk['kind']}"
    definitions: dict[str, Any] = {}
    properties: dict[str, Any] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        **(schema.get("properties") or {}),
        "metadata": {"$ref": f"#/components/schemas/{_META}"},
    }
    _flatten({**schema, "type": "object", "properties": properties}, name, definitions)
    definitions[name]["x-kubernetes-group-version-kind"] = [gvk]
    register(name, {**schema, "type": "object"}, definitions)
    return name


def _flatten(schema: Body, name: str, definitions: dict[str, Any]) -> Any:
    """The schema with a definition of its own for every object in it that has fields."""
    if schema.get("properties") and "$ref" not in schema:
        fields = {
            field: _flatten(each, f"{name}.{field}", definitions)
            for field, each in schema["properties"].items()
        }
        definitions[name] = {**schema, "properties": fields}
        return {"$ref": f"#/components/schemas/{name}"}
    flat = dict(schema)
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), Mapping):
            flat[part] = _flatten(schema[part], f"{name}.{part}", definitions)
    return flat

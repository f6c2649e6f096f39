"""Reading objects: one, or a page of them at one version of the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from apps.cluster import sql
from apps.cluster.errors import BadRequest, NotFound
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.scheduler.labels import Requirement, SelectorError, parse_selector

Body = dict[str, Any]

#: Fields whose absence means something else than the empty string.
_FIELD_DEFAULTS = {
    "spec.unschedulable": "false",
    "spec.hostNetwork": "false",
    "status.replicas": "0",
}
#: Fields that are called otherwise in the object.
_FIELD_PATHS = {"source": "source.component"}
_FIELD_COLUMNS = {
    "metadata.name": "name",
    "metadata.namespace": "namespace",
    "spec.nodeName": "node_name",
    "status.phase": "phase",
}


@dataclass(frozen=True, slots=True)
class Page:
    """Objects in (namespace, name) order, all as of `resource_version`."""

    items: list[Body]
    resource_version: int
    #: Whether more objects follow.
    more: bool
    #: How many objects follow this page; None where it was not counted (with a selector).
    remaining: int | None


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One term of a fieldSelector: `path=value` or `path!=value`."""

    path: str
    value: str
    equal: bool


def get(cluster: Cluster, kind: Kind, namespace: str, name: str) -> Body:
    """One object; NotFound when it does not exist."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT body::text FROM {kind.model._meta.db_table} "
            "WHERE cluster_id = %s AND namespace = %s AND name = %s",
            [cluster.pk, namespace, name],
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound(kind.plural, name, kind.group)
    found: Body = sql.load_json(row[0])
    return found


def list_objects(
    cluster: Cluster,
    kind: Kind,
    *,
    namespace: str | None = None,
    label_selector: str = "",
    field_selector: str = "",
    limit: int = 0,
    after: tuple[str, str] | None = None,
) -> Page:
    """Objects of one kind, of one namespace or (None) of all, and the version they are as of.

    With `after`, those that follow that (namespace, name). Raises BadRequest for a selector that
    cannot be read.
    """
    where, parameters = _conditions(cluster, kind, namespace, label_selector, field_selector)
    if after is not None:
        where.append("(namespace, name) > (%s, %s)")
        parameters.extend(after)
    table, condition = kind.model._meta.db_table, " AND ".join(where)
    with connection.cursor() as cursor:
        # one statement, so one snapshot: items and version belong together
        cursor.execute(
            "SELECT c.resource_version, o.namespace, o.name, o.body::text, o.matching "
            "FROM cluster_cluster c LEFT JOIN LATERAL ("
            f"SELECT namespace, name, body, {_count(limit)} AS matching FROM {table} "
            f"WHERE {condition} ORDER BY namespace, name {'LIMIT %s' if limit else ''}"
            ") o ON true WHERE c.id = %s",
            [*parameters, *([limit] if limit else []), cluster.pk],
        )
        rows = cursor.fetchall()
    if not rows:
        raise NotFound("clusters", cluster.name)
    version, found = rows[0][0], [row for row in rows if row[3] is not None]
    more = bool(found) and bool(limit) and found[0][4] > len(found)
    return Page(
        items=[sql.load_json(row[3]) for row in found],
        resource_version=version,
        more=more,
        remaining=(
            found[0][4] - len(found) if more and not (label_selector or field_selector) else None
        ),
    )


def parse_field_selector(kind: Kind, text: str) -> list[FieldRequirement]:
    """The terms of a fieldSelector; BadRequest for a field this kind cannot be selected by."""
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
    """The requirements of a labelSelector; BadRequest when it cannot be read."""
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


def field_value(body: Body, path: str) -> str:
    """The value a fieldSelector compares, as text."""
    value: Any = body
    for step in _FIELD_PATHS.get(path, path).split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if value is None:
        return _FIELD_DEFAULTS.get(path, "")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _conditions(
    cluster: Cluster, kind: Kind, namespace: str | None, labels: str, fields: str
) -> tuple[list[str], list[Any]]:
    where, parameters = ["cluster_id = %s"], [cluster.pk]
    if namespace is not None:
        where.append("namespace = %s")
        parameters.append(namespace)
    for requirement in label_requirements(labels):
        condition, values = _label_condition(requirement)
        where.append(condition)
        parameters.extend(values)
    columns = {field.column for field in kind.model._meta.concrete_fields}
    for term in parse_field_selector(kind, fields):
        column = _FIELD_COLUMNS.get(term.path)
        sign = "=" if term.equal else "<>"
        if column in columns:
            where.append(f"{column} {sign} %s")
            parameters.append(term.value)
        else:
            where.append(f"coalesce(body #>> %s, %s) {sign} %s")
            default = _FIELD_DEFAULTS.get(term.path, "")
            path = _FIELD_PATHS.get(term.path, term.path)
            parameters.extend([path.split("."), default, term.value])
    return where, parameters


def _label_condition(requirement: Requirement) -> tuple[str, list[Any]]:
    key, values = requirement.key, list(requirement.values)
    match requirement.operator:
        case "In":
            return "labels ->> %s = ANY(%s)", [key, values]
        case "NotIn":
            return "(labels ->> %s = ANY(%s)) IS NOT TRUE", [key, values]
        case "Exists":
            return "jsonb_exists(labels, %s)", [key]
        case "DoesNotExist":
            return "NOT jsonb_exists(labels, %s)", [key]
        case operator:
            sign = ">" if operator == "Gt" else "<"
            # only labels that are whole numbers of up to 18 digits are compared
            return (
                "CASE WHEN labels ->> %s ~ '^-?[0-9]{1,18}$' "
                f"THEN (labels ->> %s)::bigint {sign} %s ELSE false END",
                [key, key, int(values[0])],
            )


def _count(limit: int) -> str:
    return "count(*) OVER ()" if limit else "0"

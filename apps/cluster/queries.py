"""Reads clusters, and their objects: one, or a page of them at one version of the cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import QuerySet

from apps.cluster import sql
from apps.cluster.errors import NotFound
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.cluster.selectors import (
    FIELD_DEFAULTS,
    FIELD_PATHS,
    label_requirements,
    parse_field_selector,
)
from apps.scheduler.labels import Requirement

Body = dict[str, Any]

_FIELD_COLUMNS = {
    "metadata.name": "name",
    "metadata.namespace": "namespace",
    "spec.nodeName": "node_name",
    "status.phase": "phase",
}


Item = TypeVar("Item")


def clusters() -> QuerySet[Cluster]:
    """All clusters, by name."""
    return Cluster.objects.order_by("name")


def cluster_named(name: str) -> Cluster:
    """The cluster of this name; NotFound when there is none."""
    found = Cluster.objects.filter(name=name).first() if "\x00" not in name else None
    if found is None:
        raise NotFound("clusters", name)
    return found


@dataclass(frozen=True, slots=True)
class ObjectPage(Generic[Item]):
    """Objects in (namespace, name) order, all as of `resource_version`."""

    items: list[Item]
    resource_version: int
    #: (namespace, name) of the last object if more follow; None on the last page.
    next_after: tuple[str, str] | None
    #: Number of objects after this page; None if not counted (with a selector).
    remaining: int | None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which objects of a kind to list, and how many."""

    #: None: all namespaces.
    namespace: str | None = None
    labels: str = ""
    fields: str = ""
    #: 0: no limit.
    limit: int = 0
    #: Only objects after this (namespace, name).
    after: tuple[str, str] | None = None


def list_objects(
    cluster: Cluster, kind: Kind, selection: Selection = Selection()
) -> ObjectPage[Body]:
    """The selected objects and the version of the list; BadRequest for an invalid selector."""
    page = _page(cluster, kind, selection, "body::text")
    return replace(page, items=[sql.load_json(text) for text in page.items])


def list_texts(cluster: Cluster, kind: Kind, selection: Selection = Selection()) -> ObjectPage[str]:
    """`list_objects` as JSON text without `kind` and `apiVersion`, as in list responses."""
    return _page(cluster, kind, selection, "(body - 'kind' - 'apiVersion')::text")


def _page(cluster: Cluster, kind: Kind, selection: Selection, text: str) -> ObjectPage[Any]:
    limit = selection.limit
    where, parameters = _conditions(cluster, kind, selection)
    table, condition = kind.model._meta.db_table, " AND ".join(where)
    counts = bool(limit) and not (selection.labels or selection.fields)
    count = f"(SELECT count(*) FROM {table} WHERE {condition})" if counts else "0"
    with connection.cursor() as cursor:
        # one statement, so one snapshot: items and version belong together
        cursor.execute(
            f"SELECT c.resource_version, {count}, o.namespace, o.name, o.text "
            "FROM cluster_cluster c LEFT JOIN LATERAL ("
            f"SELECT namespace, name, {text} AS text FROM {table} "
            f"WHERE {condition} {'ORDER BY namespace, name LIMIT %s' if limit else ''}"
            ") o ON true WHERE c.id = %s",
            [
                *(parameters if counts else []),
                *parameters,
                # one more row shows whether more follow
                *([limit + 1] if limit else []),
                cluster.pk,
            ],
        )
        rows = cursor.fetchall()
    if not rows:
        raise NotFound("clusters", cluster.name)
    found = [row for row in rows if row[4] is not None]
    if not limit:
        # without a limit: sorting here is cheaper than sorting whole bodies on the database's disk
        found.sort(key=itemgetter(2, 3))
    more = bool(limit) and len(found) > limit
    shown = found[:limit] if more else found
    return ObjectPage(
        items=[row[4] for row in shown],
        resource_version=rows[0][0],
        next_after=(shown[-1][2], shown[-1][3]) if more else None,
        remaining=rows[0][1] - len(shown) if more and counts else None,
    )


def _conditions(cluster: Cluster, kind: Kind, selection: Selection) -> tuple[list[str], list[Any]]:
    where = ["cluster_id = %s"]
    parameters: list[Any] = [cluster.pk]
    if selection.namespace is not None:
        where.append("namespace = %s")
        parameters.append(selection.namespace)
    if selection.after is not None:
        where.append("(namespace, name) > (%s, %s)")
        parameters.extend(selection.after)
    for requirement in label_requirements(selection.labels):
        condition, values = _label_condition(requirement)
        where.append(condition)
        parameters.extend(values)
    columns = {field.column for field in kind.model._meta.concrete_fields}
    for term in parse_field_selector(kind, selection.fields):
        column = _FIELD_COLUMNS.get(term.path)
        sign = "=" if term.equal else "<>"
        if column in columns:
            where.append(f"{column} {sign} %s")
            parameters.append(term.value)
        else:
            where.append(f"coalesce(body #>> %s, %s) {sign} %s")
            default = FIELD_DEFAULTS.get(term.path, "")
            path = FIELD_PATHS.get(term.path, term.path)
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

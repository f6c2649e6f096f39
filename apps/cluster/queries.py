"""Reads clusters, and their objects: one, or a page of them at one version of the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import QuerySet

from apps.cluster import sql
from apps.cluster.errors import NotFound
from apps.cluster.kind import Kind
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

#: The key of the last object of a page.
_LAST_KEY = "(SELECT ARRAY[namespace, name] FROM page ORDER BY namespace, name OFFSET %s LIMIT 1)"

Items = TypeVar("Items")


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
class ObjectPage(Generic[Items]):
    """Objects in (namespace, name) order, all as of `resource_version`."""

    items: Items
    resource_version: int
    #: (namespace, name) of the last object if more follow; None on the last page.
    next_after: tuple[str, str] | None
    #: Number of objects after this page; None if not counted (with a selector).
    remaining: int | None


def get(cluster: Cluster, kind: Kind, namespace: str, name: str) -> Body:
    """One object; NotFound when it does not exist."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT body::text FROM {kind.table} o "
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
) -> ObjectPage[list[Body]]:
    """The selected objects and the version of the list; BadRequest for an invalid selector."""
    page = stream_texts(cluster, kind, selection)
    items = [sql.load_json(text) for text in page.items]
    return ObjectPage(items, page.resource_version, page.next_after, page.remaining)


def stream_texts(
    cluster: Cluster, kind: Kind, selection: Selection = Selection()
) -> ObjectPage[Iterator[str]]:
    """`list_objects` with an iterator of the objects as JSON text, for lists of any size.

    The database sends them while they are read, so the process holds only a few at a time. Until
    the iterator is at its end or closed, the thread can run no other query.

    Raises BadRequest for an invalid selector, and NotFound if the cluster was deleted.
    """
    statement, parameters = _page_query(cluster, kind, selection)
    rows = sql.stream_rows(statement, parameters)
    first = next(rows, None)
    if first is None:
        raise NotFound("clusters", cluster.name)
    version, found, counted, last, text = first
    more = bool(selection.limit) and found > selection.limit
    return ObjectPage(
        items=_texts(text, rows),
        resource_version=version,
        next_after=(last[0], last[1]) if more else None,
        remaining=counted - selection.limit if more and counted is not None else None,
    )


def _texts(first: str | None, rows: Iterator[tuple[Any, ...]]) -> Iterator[str]:
    # an empty list is one row without an object
    if first is not None:
        yield first
    for row in rows:
        yield row[4]


def _page_query(cluster: Cluster, kind: Kind, selection: Selection) -> tuple[str, list[Any]]:
    """One statement, so one snapshot: objects, version and counts belong together.

    `page` selects and sorts without bodies, which do not fit into the memory of a sort; each row
    of it then reads its body.
    """
    limit = selection.limit
    where, parameters = _conditions(cluster, kind, selection)
    table, condition = kind.table, " AND ".join(where)
    counts = bool(limit) and not (selection.labels or selection.fields)
    statement = (
        f"WITH page AS MATERIALIZED (SELECT id, namespace, name FROM {table} o "
        # one more row shows whether more follow
        f"WHERE {condition} ORDER BY namespace, name {'LIMIT %s' if limit else ''}) "
        f"SELECT c.resource_version, {'(SELECT count(*) FROM page)' if limit else '0'}, "
        f"{f'(SELECT count(*) FROM {table} o WHERE {condition})' if counts else 'NULL::bigint'}, "
        f"{_LAST_KEY if limit else 'NULL'}, o.text "
        "FROM cluster_cluster c LEFT JOIN (SELECT "
        f"(SELECT t.body::text FROM {table} t WHERE t.id = page.id) AS text "
        f"FROM page {'LIMIT %s' if limit else ''}) o ON true WHERE c.id = %s"
    )
    limits = [limit + 1, *(parameters if counts else []), limit - 1, limit] if limit else []
    return statement, [*parameters, *limits, cluster.pk]


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

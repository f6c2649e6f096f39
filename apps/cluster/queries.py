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
    names_one,
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

#: So many objects are counted for a page: a count of a million would take longer than the page.
MOST_COUNTED = 50_000
#: The key of the last object of a page.
_LAST_KEY = "(SELECT ARRAY[namespace, name] FROM page ORDER BY namespace, name OFFSET %s LIMIT 1)"

Items = TypeVar("Items")


def clusters() -> QuerySet[Cluster]:
    """All clusters, by name."""
    return Cluster.objects.order_by("name")


def cluster_named(name: str) -> Cluster:
    """The cluster of this name; NotFound when there is none."""
    cluster = Cluster.objects.filter(name=name).first() if "\x00" not in name else None
    if cluster is None:
        raise NotFound("clusters", name)
    return cluster


@dataclass(frozen=True, slots=True)
class ObjectPage(Generic[Items]):
    """Objects in (namespace, name) order, all as of `resource_version`."""

    items: Items
    resource_version: int
    #: (namespace, name) of the last object if more follow; None on the last page.
    next_after: tuple[str, str] | None
    #: Number of objects after this page; None if not counted: with a selector, or too many.
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
    body: Body = sql.load_json(row[0])
    return body


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

    @property
    def is_selective(self) -> bool:
        """Whether it selects by labels or fields."""
        return bool(self.labels or self.fields)

    def names_one(self, kind: Kind) -> bool:
        """Whether it can only select one object, by its name: there is no further page."""
        return names_one(kind, self.namespace, self.fields)


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
    version, more, counted, last, text = first
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
    limit, table = selection.limit, kind.table
    inside, within = _range_conditions(cluster, selection)
    where, parameters = _selector_conditions(kind, selection)
    where, parameters = [*inside, *where], [*within, *parameters]
    condition = " AND ".join(where)
    body = f"(SELECT t.body::text FROM {table} t WHERE t.id = page.id) AS text"
    page = f"SELECT id, namespace, name FROM {table} o WHERE {condition} ORDER BY namespace, name"
    if not limit:
        statement = (
            f"WITH page AS MATERIALIZED ({page}) "
            "SELECT c.resource_version, false, NULL::bigint, NULL, o.text "
            f"FROM cluster_cluster c LEFT JOIN (SELECT {body} FROM page) o ON true WHERE c.id = %s"
        )
        return statement, [*parameters, cluster.pk]
    if not selection.is_selective:
        # one more row shows whether more follow
        more, of_more = "(SELECT count(*) > %s FROM page)", [limit]
        most = limit + MOST_COUNTED + 1
        first = f"SELECT FROM {table} o WHERE {condition} LIMIT %s"
        counted = f"(SELECT nullif(count(*), %s) FROM ({first}) o)"
        of_count = [most, *parameters, most]
    else:
        # as in Kubernetes also objects that the selectors do not select make another page
        counted, of_count = "NULL::bigint", []
        more, of_more = "false", []
        if not selection.names_one(kind):
            more = (
                f"(SELECT EXISTS (SELECT FROM {table} o, (SELECT namespace, name FROM page "
                "ORDER BY namespace, name OFFSET %s LIMIT 1) l WHERE "
                f"{' AND '.join(inside)} "
                "AND (o.namespace, o.name) > (l.namespace, l.name)))"
            )
            of_more = [limit - 1, *within]
    statement = (
        f"WITH page AS MATERIALIZED ({page} LIMIT %s) "
        f"SELECT c.resource_version, {more}, {counted}, {_LAST_KEY}, o.text FROM cluster_cluster c "
        f"LEFT JOIN (SELECT {body} FROM page LIMIT %s) o ON true WHERE c.id = %s"
    )
    return statement, [
        *parameters,
        limit + 1,
        *of_more,
        *of_count,
        limit - 1,
        limit,
        cluster.pk,
    ]


def _range_conditions(cluster: Cluster, selection: Selection) -> tuple[list[str], list[Any]]:
    """The conditions on the key of an object `o`: which part of the order a list reads."""
    where = ["o.cluster_id = %s"]
    parameters: list[Any] = [cluster.pk]
    if selection.namespace is not None:
        where.append("o.namespace = %s")
        parameters.append(selection.namespace)
    if selection.after is not None:
        where.append("(o.namespace, o.name) > (%s, %s)")
        parameters.extend(selection.after)
    return where, parameters


def _selector_conditions(kind: Kind, selection: Selection) -> tuple[list[str], list[Any]]:
    where: list[str] = []
    parameters: list[Any] = []
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

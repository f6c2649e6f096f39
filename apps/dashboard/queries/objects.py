"""What the pages of the other kinds show: how many there are, the objects of one, one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from apps.cluster import kinds
from apps.cluster.errors import NotFound
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster, Event, KubernetesObject, Namespace
from apps.controlplane.tables.columns import Column
from apps.controlplane.tables.kinds import columns_of
from apps.dashboard.paging import NumberedPage, numbered_page
from apps.dashboard.queries.changes import ChangeRow, object_changes
from apps.dashboard.queries.pods import with_labels
from apps.dashboard.queries.related import Relation, relations
from apps.dashboard.tables import Field, Sorting, asked_sorting

MOST_CHANGES = 30
MOST_EVENTS = 20
#: Objects that are read all, so that one can sort by columns that are no columns of the database.
MOST_SORTED = 2_000


@dataclass(frozen=True, slots=True)
class KindCount:
    """One kind and how many objects of it there are."""

    kind: Kind
    objects: int


@dataclass(frozen=True, slots=True)
class ObjectRow:
    """An object of a list, and its cells beside its name and age: text, and whether a number."""

    object: KubernetesObject
    cells: Sequence[tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class ObjectList:
    """A page of objects; of very many, only name and age can be sorted by."""

    page: NumberedPage[ObjectRow]
    sorting: Sorting[str]
    columns: Sequence[Column]
    sortable: bool
    filters: Sequence[Field]


@dataclass(frozen=True, slots=True)
class OneObject:
    """An object, what it has to do with others, and who changed it."""

    kind: Kind
    object: KubernetesObject
    #: (column of `kubectl get -o wide`, its cell)
    facts: Sequence[tuple[str, str]]
    related: Sequence[Relation]
    events: Sequence[Event]
    changes: Sequence[ChangeRow]


def kind_of(resource: str) -> Kind:
    """The kind addressed as `replicasets.apps`; NotFound when there is none."""
    for kind in kinds.ALL:
        if kind.qualified_plural == resource:
            return kind
    raise NotFound("kinds", resource)


def kind_counts(cluster: Cluster) -> list[KindCount]:
    """Every kind with its number of objects, in one statement."""
    counts = " UNION ALL ".join(
        f"SELECT {number}, count(*) FROM {kind.model._meta.db_table} WHERE cluster_id = %s"
        for number, kind in enumerate(kinds.ALL)
    )
    with connection.cursor() as cursor:
        cursor.execute(counts, [cluster.pk] * len(kinds.ALL))
        counted = dict(cursor.fetchall())
    return [KindCount(kind, counted[number]) for number, kind in enumerate(kinds.ALL)]


def object_list(cluster: Cluster, kind: Kind, query: Mapping[str, str]) -> ObjectList:
    """Objects of a kind with the columns of `kubectl get`, narrowed and sorted as asked.

    BadRequest for a label selector that cannot be read.
    """
    columns = [column for column in columns_of(kind) if column.name not in ("Name", "Age")]
    objects = _narrowed(kind.model._default_manager.filter(cluster=cluster), query)
    total = objects.count()
    sortable = total <= MOST_SORTED
    keys = {"name": "", "age": "", **({column.name: column.name for column in columns})}
    sorting = asked_sorting(query, keys if sortable else {"name": "", "age": ""}, default="name")
    now = cluster.now()
    if sorting.key:
        column = next(column for column in columns if column.name == sorting.key)
        found: Any = sorted(
            objects.order_by("namespace", "name"),
            key=lambda row: _comparable(column.cell(row.body, now)),
            reverse=sorting.downwards,
        )
    else:
        order = ("created_at", "pk") if sorting.name == "age" else ("namespace", "name")
        sign = "-" if sorting.downwards else ""
        found = objects.order_by(*(f"{sign}{name}" for name in order))
    page = numbered_page(found, query)
    rows = [
        ObjectRow(row, [_shown(column.cell(row.body, now)) for column in columns])
        for row in page.rows
    ]
    return ObjectList(page.showing(rows), sorting, columns, sortable, _filters(cluster, kind))


def one_object(cluster: Cluster, kind: Kind, namespace: str, name: str) -> OneObject:
    """An object with its history; NotFound when there is none."""
    found = kind.model._default_manager.filter(cluster=cluster, namespace=namespace, name=name)
    first = found.first()
    if first is None:
        raise NotFound(kind.plural, name, kind.group)
    events = Event.objects.filter(cluster=cluster, involved_uid=str(first.uid)).order_by("-pk")
    now = cluster.now()
    return OneObject(
        kind=kind,
        object=first,
        facts=[
            (column.name, _shown(column.cell(first.body, now))[0])
            for column in columns_of(kind)[1:]
        ],
        related=relations(cluster, kind, first),
        events=list(events[:MOST_EVENTS]),
        changes=object_changes(cluster, first.uid, most=MOST_CHANGES),
    )


def object_of(cluster: Cluster, kind: Kind, namespace: str, name: str) -> KubernetesObject:
    """The object alone; NotFound when there is none."""
    found = kind.model._default_manager.filter(cluster=cluster, namespace=namespace, name=name)
    first: KubernetesObject | None = found.first()
    if first is None:
        raise NotFound(kind.plural, name, kind.group)
    return first


def _narrowed(objects: QuerySet[Any], query: Mapping[str, str]) -> QuerySet[Any]:
    if text := query.get("q", "").strip():
        objects = objects.filter(name__contains=text)
    if namespace := query.get("namespace", "").strip():
        objects = objects.filter(namespace=namespace)
    return with_labels(objects, query.get("labels", ""))


def _shown(cell: Any) -> tuple[str, bool]:
    """A cell as text, and whether it is a number."""
    if isinstance(cell, bool):
        return ("yes" if cell else "no"), False
    if isinstance(cell, int):
        return f"{cell:,}", True
    return ("" if cell is None else str(cell)), False


def _comparable(cell: Any) -> tuple[bool, float, str]:
    """Numbers among themselves, before texts."""
    number = isinstance(cell, int | float)
    return not number, float(cell) if number else 0.0, str(cell)


def _filters(cluster: Cluster, kind: Kind) -> list[Field]:
    fields = [Field("q", "Name", hint="contains")]
    if kind.namespaced:
        namespaces = Namespace.objects.filter(cluster=cluster).order_by("name")
        names = list(namespaces.values_list("name", flat=True))
        fields.append(Field("namespace", "Namespace", choices=names))
    return [*fields, Field("labels", "Labels", hint="app=web,tier!=db")]

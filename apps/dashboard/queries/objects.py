"""The pages of other kinds: the number of objects by kind, the objects of a kind, one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection
from django.db.models import QuerySet

from apps.cluster import kinds
from apps.cluster.custom.versions import stored_kinds
from apps.cluster.errors import NotFound
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster, Event, KubernetesObject, Namespace
from apps.cluster.tables.columns import Column
from apps.dashboard.paging import NumberedPage, numbered_page
from apps.dashboard.queries.changes import ChangeRow, object_changes
from apps.dashboard.queries.kind_pages import relations
from apps.dashboard.queries.pods import filter_by_labels
from apps.dashboard.queries.related import Relation
from apps.dashboard.tables import Field, Sorting, read_sorting, refuse_unknown
from apps.engine.profiles.gates import gates_of
from apps.studies.explanations.pending_groups import GroupExplanation, explain_pod_group

MAX_CHANGES = 30
MAX_EVENTS = 20
#: name of a kind -> its heading on the page of kinds
_AREAS: Final = {kind.name: area for area, members in kinds.AREAS.items() for kind in members}
_CUSTOM: Final = "Custom resources"
#: Up to this number all objects are read, so that every column can be sorted by.
MAX_SORTED = 2_000


@dataclass(frozen=True, slots=True)
class KindCount:
    """One kind and how many objects of it there are."""

    kind: Kind
    objects: int

    @property
    def area(self) -> str:
        """The heading under which the page of kinds lists it."""
        return _CUSTOM if self.kind.definition_name else _AREAS[self.kind.name]


@dataclass(frozen=True, slots=True)
class ObjectRow:
    """An object of a list; a cell is (text, whether it is a number), besides name and age."""

    object: KubernetesObject
    cells: Sequence[tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class ObjectList:
    """A page of objects; `sortable`: by any column, not only by name and age."""

    page: NumberedPage[ObjectRow]
    sorting: Sorting[str]
    columns: Sequence[Column]
    sortable: bool
    filters: Sequence[Field]


@dataclass(frozen=True, slots=True)
class OneObject:
    """An object with its related objects, events and changes."""

    kind: Kind
    object: KubernetesObject
    #: (column of `kubectl get -o wide`, its cell)
    facts: Sequence[tuple[str, str]]
    related: Sequence[Relation]
    events: Sequence[Event]
    changes: Sequence[ChangeRow]
    #: of a PodGroup
    group: GroupExplanation | None = None


def kind_of(cluster: Cluster, resource: str) -> Kind:
    """The kind with a qualified name such as `replicasets.apps`; NotFound if there is none."""
    for kind in kinds.ALL:
        if kind.qualified_plural == resource:
            return kind
    for kind in stored_kinds(cluster):
        if kind.definition_name == resource:
            return kind
    raise NotFound("kinds", resource)


def kind_of_object(cluster: Cluster, api_version: str, name: str) -> Kind:
    """The kind of a stored object."""
    try:
        return kinds.by_api_version(api_version, name)
    except KeyError:
        known = {(kind.api_version, kind.name): kind for kind in stored_kinds(cluster)}
        return known[api_version, name]


def kind_counts(cluster: Cluster) -> list[KindCount]:
    """Every kind that the cluster serves, with its number of objects."""
    gates = gates_of(cluster)
    built_in = (k for k in kinds.ALL if not k.feature_gate or gates.enabled(k.feature_gate))
    known = [*built_in, *stored_kinds(cluster)]
    counts = " UNION ALL ".join(
        f"SELECT {number}, count(*) FROM {kind.table} o WHERE cluster_id = %s"
        for number, kind in enumerate(known)
    )
    with connection.cursor() as cursor:
        cursor.execute(counts, [cluster.pk] * len(known))
        counted = dict(cursor.fetchall())
    kind_rows = [KindCount(kind, counted[number]) for number, kind in enumerate(known)]
    areas = [*kinds.AREAS, _CUSTOM]
    return sorted(kind_rows, key=lambda each: (areas.index(each.area), each.kind.name))


def object_list(cluster: Cluster, kind: Kind, query: Mapping[str, str]) -> ObjectList:
    """Objects of a kind with the columns of `kubectl get`, filtered and sorted as requested.

    BadRequest for an invalid label selector, or an unknown parameter.
    """
    filters = _filters(cluster, kind)
    refuse_unknown(query, filters)
    columns = [each for each in kind.columns if each.name not in ("Name", "Age", "Created At")]
    objects = _filter(kind.objects(cluster), query)
    total = objects.count()
    sortable = total <= MAX_SORTED
    keys = {"name": "", "age": "", **({column.name: column.name for column in columns})}
    sorting = read_sorting(query, keys if sortable else {"name": "", "age": ""}, default="name")
    now = cluster.now()
    if sorting.key:
        column = next(column for column in columns if column.name == sorting.key)
        matches: Any = sorted(
            objects.order_by("namespace", "name"),
            key=lambda row: _sort_key(column.cell(row.body, now)),
            reverse=sorting.descending,
        )
    else:
        order = ("created_at", "pk") if sorting.name == "age" else ("namespace", "name")
        sign = "-" if sorting.descending else ""
        matches = objects.order_by(*(f"{sign}{name}" for name in order))
    page = numbered_page(matches, query)
    rows = [
        ObjectRow(row, [_format_cell(column.cell(row.body, now)) for column in columns])
        for row in page.rows
    ]
    return ObjectList(page.showing(rows), sorting, columns, sortable, filters)


def one_object(
    cluster: Cluster, kind: Kind, namespace: str, name: str, *, attempt: int | None = None
) -> OneObject:
    """An object with its history; NotFound if there is none.

    ``attempt``: of a PodGroup, the attempt to be shown instead of the group as it is.
    """
    matches = kind.objects(cluster).filter(namespace=namespace, name=name)
    first = matches.first()
    if first is None:
        raise NotFound(kind.plural, name, kind.group)
    about = Event.objects.filter(cluster=cluster, involved_uid=str(first.uid))
    events = about.order_by("-resource_version")
    now = cluster.now()
    return OneObject(
        kind=kind,
        object=first,
        facts=[
            (column.name, _format_cell(column.cell(first.body, now))[0])
            for column in kind.columns[1:]
        ],
        related=relations(cluster, kind, first),
        events=list(events[:MAX_EVENTS]),
        changes=object_changes(cluster, first.uid, limit=MAX_CHANGES),
        group=(
            explain_pod_group(cluster, namespace, name, attempt=attempt)
            if kind.key == "PodGroup"
            else None
        ),
    )


def object_of(cluster: Cluster, kind: Kind, namespace: str, name: str) -> KubernetesObject:
    """The object; NotFound if there is none."""
    matches = kind.objects(cluster).filter(namespace=namespace, name=name)
    first: KubernetesObject | None = matches.first()
    if first is None:
        raise NotFound(kind.plural, name, kind.group)
    return first


def _filter(objects: QuerySet[Any], query: Mapping[str, str]) -> QuerySet[Any]:
    if text := query.get("q", "").strip():
        objects = objects.filter(name__contains=text)
    if namespace := query.get("namespace", "").strip():
        objects = objects.filter(namespace=namespace)
    return filter_by_labels(objects, query.get("labels", ""))


def _format_cell(cell: Any) -> tuple[str, bool]:
    """A cell as text, and whether it is a number."""
    if isinstance(cell, bool):
        return ("yes" if cell else "no"), False
    if isinstance(cell, int):
        return f"{cell:,}", True
    return ("" if cell is None else str(cell)), False


def _sort_key(cell: Any) -> tuple[bool, float, str]:
    """A key that sorts numbers by value, before texts."""
    number = isinstance(cell, int | float)
    return not number, float(cell) if number else 0.0, str(cell)


def _filters(cluster: Cluster, kind: Kind) -> list[Field]:
    fields = [Field("q", "Name", hint="contains")]
    if kind.namespaced:
        namespaces = Namespace.objects.filter(cluster=cluster).order_by("name")
        names = list(namespaces.values_list("name", flat=True))
        fields.append(Field("namespace", "Namespace", choices=names))
    return [*fields, Field("labels", "Labels", hint="app=web,tier!=db")]

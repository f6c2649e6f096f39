"""What the pages of the other kinds show: how many there are, the objects of one, one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection

from apps.cluster import kinds
from apps.cluster.errors import NotFound
from apps.cluster.kinds import Kind
from apps.cluster.models import Change, Cluster, KubernetesObject
from apps.dashboard.paging import NumberedPage, numbered_page

MOST_CHANGES = 30


@dataclass(frozen=True, slots=True)
class KindCount:
    """One kind and how many objects of it there are."""

    kind: Kind
    objects: int


@dataclass(frozen=True, slots=True)
class OneObject:
    """An object and who changed it."""

    kind: Kind
    object: KubernetesObject
    changes: Sequence[Change]


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


def object_list(
    cluster: Cluster, kind: Kind, query: Mapping[str, str]
) -> NumberedPage[KubernetesObject]:
    """Objects of a kind by namespace and name."""
    objects = kind.model._default_manager.filter(cluster=cluster).defer("body")
    if text := query.get("q", "").strip():
        objects = objects.filter(name__contains=text)
    return numbered_page(objects.order_by("namespace", "name"), query)


def one_object(cluster: Cluster, kind: Kind, namespace: str, name: str) -> OneObject:
    """An object with its history; NotFound when there is none."""
    found = kind.model._default_manager.filter(cluster=cluster, namespace=namespace, name=name)
    first = found.first()
    if first is None:
        raise NotFound(kind.plural, name, kind.group)
    changes = Change.objects.filter(cluster=cluster, uid=first.uid).defer("object")
    return OneObject(kind, first, list(changes.order_by("-version")[:MOST_CHANGES]))

"""The search: clusters, nodes, pods, decisions and plugins by parts of their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.urls import reverse

from apps.cluster.access.reach import EVERYTHING, Reach
from apps.cluster.models import Change, Cluster, Node, Pod
from apps.dashboard.documents import plugin_documents
from apps.engine.models import SchedulingDecision
from apps.engine.profiles.plugins import known_plugins

#: Maximum number of hits of each sort.
MAX_HITS = 6


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result; `about` distinguishes objects with equal names."""

    sort: str
    name: str
    address: str
    about: str


def search(text: str, *, here: str = "", reach: Reach = EVERYTHING) -> list[Hit]:
    """The first hits of each sort in the clusters of `reach`, those of the cluster `here` first.

    One query for each sort.
    """
    text = text.strip()
    if not text or "\x00" in text:
        return []
    pods = [*_pods(text, here, reach), *_deleted_pods(text, here, reach)]
    return [
        *_clusters(text, reach),
        *_nodes(text, here, reach),
        *pods[:MAX_HITS],
        *_decisions(text, here, reach),
        *_plugins(text),
    ]


def _clusters(text: str, reach: Reach) -> list[Hit]:
    rows = Cluster.objects.filter(name__icontains=text).order_by("name")
    matches = reach.restrict(rows, "pk")[:MAX_HITS]
    return [
        Hit("Cluster", each.name, _url("cluster", each.name), "paused" if each.paused else "")
        for each in matches
    ]


def _nodes(text: str, here: str, reach: Reach) -> list[Hit]:
    rows = _order_by_cluster(reach.restrict(Node.objects.filter(name__icontains=text)), here)
    return [
        Hit("Node", name, _url("node", cluster, name), cluster)
        for cluster, name in rows.values_list("cluster__name", "name")[:MAX_HITS]
    ]


def _pods(text: str, here: str, reach: Reach) -> list[Hit]:
    namespace, slash, name = text.rpartition("/")
    matches = reach.restrict(Pod.objects.filter(name__icontains=name))
    matches = matches.filter(namespace=namespace) if slash else matches
    rows = _order_by_cluster(matches, here).values_list(
        "cluster__name", "namespace", "name", "node_name"
    )
    return [
        Hit(
            "Pod",
            f"{namespace}/{name}",
            _url("pod", cluster, namespace, name),
            f"{cluster}, {f'on {node}' if node else 'without a node'}",
        )
        for cluster, namespace, name, node in rows[:MAX_HITS]
    ]


def _deleted_pods(text: str, here: str, reach: Reach) -> list[Hit]:
    """Deleted pods by a prefix of their name, the last deleted first."""
    namespace, slash, name = text.rpartition("/")
    deletions = Change.objects.filter(type=Change.Type.DELETED, kind="Pod", name__startswith=name)
    deletions = reach.restrict(deletions)
    deletions = deletions.filter(namespace=namespace) if slash else deletions
    deletions = deletions.filter(cluster__name=here) if here else deletions
    rows = deletions.order_by("-at").values_list("cluster__name", "namespace", "name", "uid")
    return [
        Hit("Pod", f"{namespace}/{name}", _url("pod-story", cluster, uid), f"{cluster}, deleted")
        for cluster, namespace, name, uid in rows[:MAX_HITS]
        if cluster
    ]


def _decisions(text: str, here: str, reach: Reach) -> list[Hit]:
    """By number, or the newest by prefix of the pod's name, also of deleted pods."""
    name = text.rpartition("/")[2]
    wanted = Q(name__startswith=name)
    if text.isascii() and text.isdecimal() and len(text) <= 18:
        wanted |= Q(pk=int(text))
    matches = reach.restrict(SchedulingDecision.objects.filter(wanted))
    matches = matches.filter(cluster__name=here) if here else matches
    rows = matches.order_by("-pk").values_list(
        "pk", "cluster__name", "namespace", "name", "attempt", "result", "node"
    )
    return [
        Hit(
            "Decision",
            f"{pk}",
            _url("decision", cluster, pk),
            f"{cluster}, attempt {attempt} of {namespace}/{name}: {result} {node}".strip(),
        )
        for pk, cluster, namespace, name, attempt, result, node in rows[:MAX_HITS]
    ]


def _plugins(text: str) -> list[Hit]:
    names = [name for name in known_plugins() if _has_word(name, text.lower())]
    documents = plugin_documents()
    return [
        Hit(
            "Plugin",
            name,
            _url("plugin", name),
            documents[name].summary if name in documents else "",
        )
        for name in names[:MAX_HITS]
    ]


def _has_word(name: str, start: str) -> bool:
    """Whether a word of a name in CamelCase starts with the text."""
    starts = (place for place, letter in enumerate(name) if letter.isupper())
    return any(name[place:].lower().startswith(start) for place in starts)


def _order_by_cluster(matches: QuerySet[Node] | QuerySet[Pod], here: str) -> QuerySet[Node | Pod]:
    away = Case(
        When(cluster__name=here, then=Value(0)), default=Value(1), output_field=IntegerField()
    )
    return matches.order_by(away, "name", "cluster__name")


def _url(view: str, *arguments: str | int | UUID) -> str:
    return reverse(view, args=arguments)


def group_by_sort(hits: Sequence[Hit]) -> dict[str, list[Hit]]:
    """The hits by sort, in their order."""
    by_sort: dict[str, list[Hit]] = {}
    for hit in hits:
        by_sort.setdefault(hit.sort, []).append(hit)
    return by_sort

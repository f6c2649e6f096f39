"""Clusters side by side: state, usage, configuration and settings, for the page and the API."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
from django.db import connection

from apps.administration.clusters.summaries import (
    ClusterCard,
    PodStates,
    Use,
    cluster_cards,
    pod_states,
)
from apps.cluster import limits
from apps.cluster.models import Cluster
from apps.cluster.queries import cluster_named
from apps.cluster.settings import SETTINGS, Setting
from apps.engine.profiles import revisions
from apps.engine.profiles.configuration_differences import NOTHING, describe_configuration
from apps.engine.queue.listing import Part

#: Totals over the nodes of each cluster, and over the pods on them; milli-CPU, bytes, units.
_ALLOCATABLE = """
    SELECT n.cluster_id, r.key, sum(r.value::numeric)::text FROM cluster_node n
    CROSS JOIN LATERAL jsonb_each_text(n.allocatable) r WHERE n.cluster_id = ANY(%s) GROUP BY 1, 2
"""
_REQUESTED = """
    SELECT p.cluster_id, r.key, sum(r.value::numeric)::text FROM cluster_pod p
    CROSS JOIN LATERAL jsonb_each_text(p.requests) r
    WHERE p.cluster_id = ANY(%s) AND p.node_name <> '' AND p.phase NOT IN ('Succeeded', 'Failed')
    GROUP BY 1, 2 UNION ALL
    SELECT p.cluster_id, 'pods', count(*)::text FROM cluster_pod p
    WHERE p.cluster_id = ANY(%s) AND p.node_name <> '' AND p.phase NOT IN ('Succeeded', 'Failed')
    GROUP BY 1
"""
_NODES = """
    SELECT cluster_id, count(*) FILTER (WHERE unschedulable) FROM cluster_node
    WHERE cluster_id = ANY(%s) GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One fact, with a value for each cluster."""

    name: str
    #: one for each cluster, in their order. A resource has `requested` and `allocatable`, in
    #: milli-CPU, bytes or units; None in a setting: the default of the site
    values: Sequence[Any]

    ANSWER: ClassVar = ("name", "differs", "values")

    @property
    def differs(self) -> bool:
        return any(value != self.values[0] for value in self.values[1:])

    @property
    def texts(self) -> list[str]:
        """The values as a page shows them; those of a resource have no text."""
        return [_to_text(value) for value in self.values if not isinstance(value, Use)]

    @property
    def uses(self) -> list[Use]:
        return [value for value in self.values if isinstance(value, Use)]


@dataclass(frozen=True, slots=True)
class ComparedSection:
    """Facts under a heading."""

    title: str
    rows: Sequence[ComparedRow]
    #: Facts that are read even if they are equal: a page folds the other equal rows.
    is_measured: bool = False

    ANSWER: ClassVar = ("title", "rows")

    @property
    def differing(self) -> int:
        return sum(row.differs for row in self.rows)

    @property
    def leading(self) -> Sequence[ComparedRow]:
        """The rows that a page shows at once: of a configuration, those that differ."""
        return [row for row in self.rows if row.differs or not self._folds_equal]

    @property
    def folded(self) -> Sequence[ComparedRow]:
        """The other ones."""
        return [row for row in self.rows if self._folds_equal and not row.differs]

    @property
    def _folds_equal(self) -> bool:
        return not self.is_measured and any(len(row.values) > 1 for row in self.rows)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The clusters, and everything compared."""

    clusters: Sequence[Cluster]
    sections: Sequence[ComparedSection]


def compare_clusters(names: Iterable[str]) -> Comparison:
    """Compare clusters, the first ones up to the limit; NotFound for an unknown name."""
    compared = list(dict.fromkeys(names))[: limits.COMPARED_CLUSTERS.highest]
    chosen = [cluster_named(name) for name in compared]
    if not chosen:
        return Comparison((), ())
    return Comparison(
        chosen,
        [
            ComparedSection("State", _compare_states(chosen), is_measured=True),
            ComparedSection("Requested of allocatable", _compare_usage(chosen), is_measured=True),
            *_compare_configurations(chosen),
            ComparedSection("Settings", [_compare_setting(each, chosen) for each in SETTINGS]),
        ],
    )


def _compare_states(chosen: Sequence[Cluster]) -> list[ComparedRow]:
    cards = cluster_cards(list(chosen))
    states = [pod_states(cluster) for cluster in chosen]
    cordoned = dict(_read(_NODES, chosen))
    rows = [
        ComparedRow("scheduler", ["paused" if each.paused else "running" for each in chosen]),
        ComparedRow("version of the objects", [each.resource_version for each in chosen]),
        _count("nodes", cards, lambda card: card.nodes),
        _count("nodes not ready", cards, lambda card: card.not_ready),
        ComparedRow("nodes cordoned", [cordoned.get(each.pk, 0) for each in chosen]),
        ComparedRow("pods bound per second", [card.throughput.per_second for card in cards]),
    ]
    counted: list[tuple[str, Callable[[PodStates], int]]] = [
        ("pods", lambda pods: pods.total),
        ("pods bound", lambda pods: pods.bound),
        ("pods in activeQ", lambda pods: pods.queues[Part.ACTIVE]),
        ("pods in backoffQ", lambda pods: pods.queues[Part.BACKOFF]),
        ("pods unschedulable", lambda pods: pods.queues[Part.UNSCHEDULABLE]),
        ("pods gated", lambda pods: pods.queues[Part.GATED]),
        ("pods held by Permit", lambda pods: pods.queues[Part.PERMIT]),
        ("pods of other schedulers", lambda pods: pods.of_others),
        ("pods succeeded", lambda pods: pods.succeeded),
        ("pods failed", lambda pods: pods.failed),
    ]
    for label, read in counted:
        rows.append(ComparedRow(label, [read(pods) for pods in states]))
    return rows


def _count(
    label: str, cards: Sequence[ClusterCard], read: Callable[[ClusterCard], int]
) -> ComparedRow:
    return ComparedRow(label, [read(card) for card in cards])


def _compare_usage(chosen: Sequence[Cluster]) -> list[ComparedRow]:
    allocatable, requested = _read_amounts(_ALLOCATABLE, chosen), _read_amounts(_REQUESTED, chosen)
    resources = {name for amounts in allocatable.values() for name in amounts}
    main = [name for name in ("cpu", "memory", "pods") if name in resources]
    return [
        ComparedRow(
            name,
            [
                Use(requested[each.pk].get(name, 0), allocatable[each.pk].get(name, 0))
                for each in chosen
            ],
        )
        for name in [*main, *sorted(resources - set(main))]
    ]


def _read_amounts(statement: str, chosen: Sequence[Cluster]) -> Mapping[int, dict[str, int]]:
    amounts: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for cluster, name, amount in _read(statement, chosen):
        amounts[cluster][name] = int(amount)
    return amounts


def _read(statement: str, chosen: Sequence[Cluster]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        numbers = [cluster.pk for cluster in chosen]
        cursor.execute(statement, [numbers] * statement.count("%s"))
        return list(cursor.fetchall())


def _compare_configurations(chosen: Sequence[Cluster]) -> list[ComparedSection]:
    """The configurations in effect: all profiles, then each profile."""
    active = [revisions.get_active(cluster) for cluster in chosen]
    described = [describe_configuration(revisions.load_configuration(each)) for each in active]
    keys = list(dict.fromkeys(key for each in described for key in each))
    sections: dict[str, list[ComparedRow]] = {
        "": [
            ComparedRow("active revision", [f"{r.revision} {r.name}".strip() for r in active]),
        ]
    }
    for name, what in keys:
        values = [each.get((name, what), NOTHING) for each in described]
        sections.setdefault(name, []).append(ComparedRow(what, values))
    return [
        ComparedSection(f"Profile {name}" if name else "Scheduler configuration", rows)
        for name, rows in sections.items()
    ]


def _compare_setting(setting: Setting, chosen: Sequence[Cluster]) -> ComparedRow:
    return ComparedRow(setting.label, [getattr(each, setting.name) for each in chosen])


def _to_text(value: Any) -> str:
    match value:
        case None:
            return "site default"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.1f}"
        case str():
            return value or NOTHING
    return msgspec.json.encode(value).decode()

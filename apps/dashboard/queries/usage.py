"""The usage of nodes: the requests of their pods compared with their allocatable resources."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db import connection

from apps.administration.clusters.summaries import Use
from apps.cluster.models import Cluster

ZONE_LABEL = "topology.kubernetes.io/zone"
NO_ZONE = "no zone"
#: Has a different value on each node, so nodes are not grouped by it.
HOSTNAME_LABEL = "kubernetes.io/hostname"

#: Resources that every row has.
_ALWAYS = ("", "cpu", "memory", "pods")
#: One row per node; terminated pods are not counted. Sums are limited to a bigint; coalesce comes
#: first because least() ignores NULL.
_USAGE = """
    SELECT n.id, n.name, coalesce(n.labels ->> %s, %s), n.ready, n.unschedulable,
        least(coalesce(p.cpu, 0), 9223372036854775807)::bigint,
        coalesce((n.allocatable ->> 'cpu')::bigint, 0),
        least(coalesce(p.memory, 0), 9223372036854775807)::bigint,
        coalesce((n.allocatable ->> 'memory')::bigint, 0),
        coalesce(p.pods, 0), coalesce((n.allocatable ->> 'pods')::bigint, 0),
        least(coalesce(p.other, 0), 9223372036854775807)::bigint,
        coalesce((n.allocatable ->> %s::text)::bigint, 0),
        EXISTS (SELECT FROM cluster_taint t WHERE t.node_id = n.id
            AND t.key LIKE 'node.kubernetes.io/%%-pressure')
    FROM cluster_node n LEFT JOIN (
        SELECT node_name, count(*) AS pods,
            sum((requests ->> 'cpu')::bigint) AS cpu,
            sum((requests ->> 'memory')::bigint) AS memory,
            sum((requests ->> %s::text)::bigint) AS other
        FROM cluster_pod WHERE cluster_id = %s AND node_name <> ''
            AND phase NOT IN ('Succeeded', 'Failed') GROUP BY node_name
    ) p ON p.node_name = n.name
    WHERE n.cluster_id = %s ORDER BY n.name
"""


class UsedNode:
    """A row about a node with the usage of its resources."""

    __slots__ = ()

    def use(self, resource: str) -> Use:
        """What is requested of a resource, and how much the node has."""
        raise NotImplementedError

    @property
    def cpu(self) -> Use:
        return self.use("cpu")

    @property
    def memory(self) -> Use:
        return self.use("memory")

    @property
    def pods(self) -> Use:
        return self.use("pods")


class NodeUse(NamedTuple):
    """The usage of one node; a tuple of numbers, since a page may have thousands of nodes."""

    id: int
    name: str
    zone: str
    ready: bool
    unschedulable: bool
    cpu_requested: int
    cpu_allocatable: int
    memory_requested: int
    memory_allocatable: int
    pods_requested: int
    pods_allocatable: int
    #: Of the additionally requested resource; 0 of 0 if there is none.
    other_requested: int
    other_allocatable: int
    #: It has a taint for memory, disk or PID pressure.
    under_pressure: bool

    @property
    def cpu(self) -> Use:
        return Use(self.cpu_requested, self.cpu_allocatable)

    @property
    def memory(self) -> Use:
        return Use(self.memory_requested, self.memory_allocatable)

    @property
    def pods(self) -> Use:
        return Use(self.pods_requested, self.pods_allocatable)

    @property
    def other(self) -> Use:
        return Use(self.other_requested, self.other_allocatable)

    def of(self, resource: str) -> Use:
        """The usage of cpu, memory, pods, or of the additionally requested resource."""
        match resource:
            case "cpu":
                return self.cpu
            case "memory":
                return self.memory
            case "pods":
                return self.pods
        return self.other


@dataclass(frozen=True)
class NodesUse:
    """The sums over several nodes."""

    nodes: Sequence[NodeUse]

    @property
    def not_ready(self) -> int:
        return sum(not node.ready for node in self.nodes)

    @property
    def cordoned(self) -> int:
        return sum(node.unschedulable for node in self.nodes)

    @property
    def cpu(self) -> Use:
        nodes = self.nodes
        return Use(sum(n.cpu_requested for n in nodes), sum(n.cpu_allocatable for n in nodes))

    @property
    def memory(self) -> Use:
        nodes = self.nodes
        return Use(sum(n.memory_requested for n in nodes), sum(n.memory_allocatable for n in nodes))

    @property
    def pods(self) -> Use:
        nodes = self.nodes
        return Use(sum(n.pods_requested for n in nodes), sum(n.pods_allocatable for n in nodes))

    @property
    def other(self) -> Use:
        nodes = self.nodes
        return Use(sum(n.other_requested for n in nodes), sum(n.other_allocatable for n in nodes))


@dataclass(frozen=True)
class ZoneUse(NodesUse):
    """The sums over the nodes of one zone."""

    name: str


def nodes_in_use(
    cluster: Cluster, *, resource: str = "cpu", label: str = ZONE_LABEL
) -> list[NodeUse]:
    """Every node by name; `other` counts `resource`, and `zone` is the value of `label`.

    One statement.
    """
    # cpu, memory and pods are counted anyway
    other = None if resource in _ALWAYS else resource
    none = NO_ZONE if label == ZONE_LABEL else f"no {label}"
    with connection.cursor() as cursor:
        cursor.execute(_USAGE, [label, none, other, other, cluster.pk, cluster.pk])
        return [NodeUse._make(row) for row in cursor.fetchall()]


def label_names(cluster: Cluster) -> list[str]:
    """The labels by which the nodes of a cluster can be grouped; always with the zone."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT jsonb_object_keys(labels) AS name FROM cluster_node "
            "WHERE cluster_id = %s ORDER BY name",
            [cluster.pk],
        )
        names = [row[0] for row in cursor.fetchall()]
    return sorted({ZONE_LABEL, *(name for name in names if name != HOSTNAME_LABEL)})


def by_zone(nodes: Iterable[NodeUse]) -> list[ZoneUse]:
    """The zones (or values of another label) by name, nodes without one last."""
    zones: defaultdict[str, list[NodeUse]] = defaultdict(list)
    for node in nodes:
        zones[node.zone].append(node)
    names = sorted(zones, key=lambda name: (name.startswith("no "), _natural_key(name)))
    return [ZoneUse(zones[name], name) for name in names]


def _natural_key(name: str) -> list[tuple[int, str]]:
    """A key that sorts zone-10 after zone-9."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts]


def resource_names(cluster: Cluster) -> list[str]:
    """The allocatable resources of a cluster's nodes besides cpu, memory and pods, by name."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT jsonb_object_keys(allocatable) AS name FROM cluster_node "
            "WHERE cluster_id = %s ORDER BY name",
            [cluster.pk],
        )
        return [row[0] for row in cursor.fetchall() if row[0] not in _ALWAYS]

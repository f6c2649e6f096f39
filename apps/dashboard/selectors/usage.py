"""How full the nodes are: what their pods ask for against what they offer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db import connection

from apps.cluster.models import Cluster

ZONE_LABEL = "topology.kubernetes.io/zone"
NO_ZONE = "no zone"

#: One row a node; the pods that ended take nothing any more.
_USAGE = """
    SELECT n.id, n.name, coalesce(n.labels ->> %s, ''), n.ready, n.unschedulable,
        coalesce((n.allocatable ->> 'cpu')::numeric, 0), coalesce(p.cpu, 0),
        coalesce((n.allocatable ->> 'memory')::numeric, 0), coalesce(p.memory, 0),
        coalesce((n.allocatable ->> 'pods')::numeric, 0), coalesce(p.pods, 0),
        coalesce((n.allocatable ->> %s)::numeric, 0), coalesce(p.other, 0)
    FROM cluster_node n LEFT JOIN (
        SELECT node_name, count(*) AS pods, sum((requests ->> 'cpu')::numeric) AS cpu,
            sum((requests ->> 'memory')::numeric) AS memory,
            sum((requests ->> %s)::numeric) AS other
        FROM cluster_pod WHERE cluster_id = %s AND node_name <> ''
            AND phase NOT IN ('Succeeded', 'Failed') GROUP BY node_name
    ) p ON p.node_name = n.name
    WHERE n.cluster_id = %s ORDER BY n.name
"""


@dataclass(frozen=True, slots=True)
class Use:
    """Requested of allocatable, in milli-CPU, bytes or whole units."""

    requested: int
    allocatable: int

    @property
    def share(self) -> float:
        """From 0 to 1, or more where pods ask for more than there is."""
        if self.allocatable:
            return self.requested / self.allocatable
        return 1.0 if self.requested else 0.0

    @property
    def percent(self) -> int:
        """Rounded down, so that only a full node says 100."""
        return int(self.share * 100)

    @property
    def free(self) -> int:
        return self.allocatable - self.requested

    def __add__(self, other: Use) -> Use:
        return Use(self.requested + other.requested, self.allocatable + other.allocatable)


@dataclass(frozen=True, slots=True)
class NodeUse:
    """One node and how full it is."""

    id: int
    name: str
    zone: str
    ready: bool
    unschedulable: bool
    cpu: Use
    memory: Use
    pods: Use
    #: The resource that was asked for besides these; zero of zero where there is none.
    other: Use

    def of(self, resource: str) -> Use:
        """The use of a resource: cpu, memory, pods, or else the one that was asked for."""
        known = {"cpu": self.cpu, "memory": self.memory, "pods": self.pods}
        return known.get(resource, self.other)


@dataclass(frozen=True)
class ZoneUse:
    """The nodes of one zone together."""

    name: str
    nodes: Sequence[NodeUse]

    @property
    def not_ready(self) -> int:
        return sum(not node.ready for node in self.nodes)

    @property
    def cordoned(self) -> int:
        return sum(node.unschedulable for node in self.nodes)

    @cached_property
    def cpu(self) -> Use:
        return total(node.cpu for node in self.nodes)

    @cached_property
    def memory(self) -> Use:
        return total(node.memory for node in self.nodes)

    @cached_property
    def pods(self) -> Use:
        return total(node.pods for node in self.nodes)

    @cached_property
    def other(self) -> Use:
        return total(node.other for node in self.nodes)


def total(uses: Iterable[Use]) -> Use:
    """All of them together."""
    return sum(uses, Use(0, 0))


def nodes_in_use(cluster: Cluster, *, resource: str = "cpu") -> list[NodeUse]:
    """Every node by name; `resource` is what `other` counts. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(_USAGE, [ZONE_LABEL, resource, resource, cluster.pk, cluster.pk])
        return [
            NodeUse(
                *(row[0], row[1], row[2] or NO_ZONE, row[3], row[4]),
                cpu=Use(int(row[6]), int(row[5])),
                memory=Use(int(row[8]), int(row[7])),
                pods=Use(int(row[10]), int(row[9])),
                other=Use(int(row[12]), int(row[11])),
            )
            for row in cursor.fetchall()
        ]


def by_zone(nodes: Iterable[NodeUse]) -> list[ZoneUse]:
    """The zones by name, those without a zone last."""
    zones: defaultdict[str, list[NodeUse]] = defaultdict(list)
    for node in nodes:
        zones[node.zone].append(node)
    names = sorted(zones, key=lambda name: (name == NO_ZONE, name))
    return [ZoneUse(name, zones[name]) for name in names]


def resource_names(cluster: Cluster) -> list[str]:
    """What the nodes of a cluster offer besides cpu, memory and pods, by name."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT jsonb_object_keys(allocatable) AS name FROM cluster_node "
            "WHERE cluster_id = %s ORDER BY name",
            [cluster.pk],
        )
        return [row[0] for row in cursor.fetchall() if row[0] not in ("cpu", "memory", "pods")]

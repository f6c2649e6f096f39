"""The figures of a cluster at a moment: nodes, pods, usage, queue, configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from apps.cluster.models import Cluster
from apps.engine.models import QueueMove, SchedulingDecision
from apps.engine.profiles import revisions
from apps.engine.queue.past import count_past_queue
from apps.studies.past.past_version import Life, PastVersion, read_life
from apps.studies.past.snapshots import Snapshot, snapshots


@dataclass(frozen=True, slots=True)
class NodeCounts:
    total: int
    ready: int
    not_ready: int
    #: cordoned nodes
    unschedulable: int


@dataclass(frozen=True, slots=True)
class PodCounts:
    total: int
    #: with a node and not finished
    bound: int
    #: without a node and not finished
    pending: int
    terminating: int
    #: phase -> number of pods
    phases: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """A resource of all nodes, in milli-CPU, bytes or whole units."""

    resource: str
    #: by pods on nodes that have not finished
    requested: int
    allocatable: int


@dataclass(frozen=True, slots=True)
class PastOverview:
    """A cluster at a moment."""

    moment: PastVersion
    life: Life
    nodes: NodeCounts
    pods: PodCounts
    #: CPU, memory and pods first
    usage: Sequence[ResourceUsage]
    #: part of the queue -> number of pods
    queue: Mapping[QueueMove.Place, int]
    #: the oldest recorded move of the queue, if the moment is before it
    queue_since: datetime | None
    #: the last decision up to the moment
    decision: int | None
    #: the configuration of this decision; of the present state, the active one
    revision: int | None
    snapshot: Snapshot

    ANSWER: ClassVar = (
        *("moment", "life", "nodes", "pods", "usage"),
        *("queue", "queue_since", "decision", "revision"),
    )

    @property
    def is_now(self) -> bool:
        return self.moment.version == self.life.now.version


def read_overview(cluster: Cluster, moment: PastVersion) -> PastOverview:
    """The figures at a moment; Expired if the change log does not reach back to it."""
    snapshot = snapshots.at(cluster, moment.version)
    life = read_life(cluster)
    sizes, since = count_past_queue(cluster, moment.at)
    decision, revision = find_configuration(cluster, moment)
    return PastOverview(
        moment,
        life,
        _count_nodes(snapshot),
        _count_pods(snapshot),
        sum_usage(snapshot),
        sizes,
        since,
        decision,
        revision,
        snapshot,
    )


def sum_usage(snapshot: Snapshot) -> list[ResourceUsage]:
    """The resources of all nodes; CPU, memory and pods first."""
    requested: Counter[str] = Counter(cpu=0, memory=0, pods=0)
    allocatable: Counter[str] = Counter()
    for node in snapshot.nodes.values():
        requested.update(snapshot.requested.get(node.name, {}))
        allocatable.update(node.allocatable)
    names = (*requested, *sorted(allocatable.keys() - requested.keys()))
    return [ResourceUsage(name, requested[name], allocatable[name]) for name in names]


def _count_nodes(snapshot: Snapshot) -> NodeCounts:
    nodes = snapshot.nodes.values()
    ready = sum(each.ready for each in nodes)
    cordoned = sum(each.unschedulable for each in nodes)
    return NodeCounts(len(nodes), ready, len(nodes) - ready, cordoned)


def _count_pods(snapshot: Snapshot) -> PodCounts:
    pods = snapshot.pods.values()
    unfinished = [pod for pod in pods if not pod.is_finished]
    bound = sum(1 for pod in unfinished if pod.node)
    return PodCounts(
        len(pods),
        bound,
        len(unfinished) - bound,
        sum(pod.terminating for pod in pods),
        dict(sorted(Counter(pod.phase for pod in pods).items())),
    )


def find_configuration(cluster: Cluster, moment: PastVersion) -> tuple[int | None, int | None]:
    """The last decision up to the moment, and the number of the revision in use."""
    if moment.decision is not None:
        rows = SchedulingDecision.objects.filter(cluster=cluster, pk=moment.decision)
    else:
        # after a clock was set back, later decisions have earlier times
        rows = SchedulingDecision.objects.filter(
            cluster=cluster, at__lte=moment.at, cluster_version__lte=moment.version
        )
    last = rows.order_by("-at", "-id").values_list("pk", "profile_revision").first()
    decision, revision = last or (None, None)
    if moment.version >= cluster.resource_version:
        revision = revisions.get_active(cluster).revision
    return decision, revision

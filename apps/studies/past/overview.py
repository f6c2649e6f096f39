"""The figures of a cluster at a moment: nodes, pods, usage, queue, configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

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
    unschedulable: int

    @property
    def not_ready(self) -> int:
        return self.total - self.ready


@dataclass(frozen=True, slots=True)
class PodCounts:
    total: int
    #: with a node and not finished
    bound: int
    #: without a node and not finished
    pending: int
    terminating: int
    phases: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Overview:
    """A cluster at a moment."""

    moment: PastVersion
    life: Life
    snapshot: Snapshot
    nodes: NodeCounts
    pods: PodCounts
    #: resource -> (requested by pods on nodes, allocatable on nodes): milli-CPU, bytes, whole units
    usage: Mapping[str, tuple[int, int]]
    queue: Mapping[QueueMove.Place, int]
    #: the oldest recorded move of the queue, if the moment is before it
    queue_since: datetime | None
    #: the last decision up to the moment, and its revision; at present, the active revision
    decision: int | None
    revision: int | None

    @property
    def is_now(self) -> bool:
        return self.moment.version == self.life.now.version


def read_overview(cluster: Cluster, moment: PastVersion) -> Overview:
    """The figures at a moment; Expired if the change log does not reach back to it."""
    snapshot = snapshots.at(cluster, moment.version)
    life = read_life(cluster)
    sizes, since = count_past_queue(cluster, moment.at)
    decision, revision = find_configuration(cluster, moment)
    return Overview(
        moment,
        life,
        snapshot,
        _count_nodes(snapshot),
        _count_pods(snapshot),
        sum_usage(snapshot),
        sizes,
        since,
        decision,
        revision,
    )


def sum_usage(snapshot: Snapshot) -> dict[str, tuple[int, int]]:
    """Resource -> (requested, allocatable) of all nodes; CPU, memory and pods first."""
    requested: Counter[str] = Counter(cpu=0, memory=0, pods=0)
    allocatable: Counter[str] = Counter()
    for node in snapshot.nodes.values():
        requested.update(snapshot.requested.get(node.name, {}))
        allocatable.update(node.allocatable)
    names = (*requested, *sorted(allocatable.keys() - requested.keys()))
    return {name: (requested[name], allocatable[name]) for name in names}


def _count_nodes(snapshot: Snapshot) -> NodeCounts:
    nodes = snapshot.nodes.values()
    return NodeCounts(
        len(nodes), sum(each.ready for each in nodes), sum(each.unschedulable for each in nodes)
    )


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
        rows = SchedulingDecision.objects.filter(cluster=cluster, at__lte=moment.at)
    last = rows.order_by("-at", "-id").values_list("pk", "profile_revision").first()
    decision, revision = last or (None, None)
    if moment.version >= cluster.resource_version:
        revision = revisions.get_active(cluster).revision
    return decision, revision

"""Records what happens in a run: the life of every pod, and figures over time."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from apps.scheduler.decision import Decision, Result
from apps.scheduler.objects import Pod
from apps.studies.scenarios.memory.cluster import MemoryCluster
from apps.studies.scenarios.memory.memory_objects import MemoryChange
from apps.studies.scenarios.running.workload_pods import WORKLOAD

#: Figures over time have at most so many points, and the last of them is the end.
_POINTS: Final = 120
_RESOURCES: Final = ("cpu", "memory")
#: reason of the condition DisruptionTarget -> what ended the pod
_DISRUPTIONS: Final[Mapping[str, str]] = {
    "PreemptionByScheduler": "preempted",
    "DeletionByTaintManager": "evicted",
    "EvictionByEvictionAPI": "evicted",
    "TerminationByKubelet": "evicted",
    "DeletionByPodGC": "evicted",
}


@dataclass(slots=True)
class PodRecord:
    """The life of one pod; times are seconds since the start."""

    namespace: str
    name: str
    workload: str
    labels: Mapping[str, str]
    created_at: float
    attempts: int = 0
    bound_at: float | None = None
    node: str = ""
    #: of the node, when the pod was bound
    node_labels: Mapping[str, str] = field(default_factory=dict)
    running_at: float | None = None
    ended_at: float | None = None
    #: its deletion was requested; on a node that has failed, this lasts
    is_terminating: bool = False
    phase: str = "Pending"
    #: "preempted" or "evicted", and by what
    disruption: str = ""
    why_disrupted: str = ""
    #: why it has no node yet, as kube-scheduler says
    message: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def waited(self) -> float | None:
        """Seconds from creation to binding."""
        return None if self.bound_at is None else self.bound_at - self.created_at

    @property
    def is_alive(self) -> bool:
        """Whether it exists and has not finished."""
        return self.ended_at is None

    @property
    def is_pending(self) -> bool:
        return self.is_alive and self.bound_at is None

    @property
    def is_on_node(self) -> bool:
        """Whether it takes room on a node, and is to stay there."""
        return self.is_alive and self.bound_at is not None and not self.is_terminating


@dataclass(frozen=True, slots=True)
class Sample:
    """The cluster at one time."""

    at: float
    nodes: int
    pending: int
    running: int
    #: resource -> requests of pods on nodes divided by allocatable
    utilization: Mapping[str, float]
    #: the standard deviation of the nodes' cpu utilization
    imbalance: float


@dataclass(slots=True)
class Recorder:
    """Listens to a cluster in memory."""

    cluster: MemoryCluster
    #: how far apart samples are, in seconds; doubled when there are too many
    interval: float = 1.0
    pods: dict[str, PodRecord] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    decisions: int = 0
    #: uids of the pods that have not ended
    _alive: set[str] = field(default_factory=set)
    _integral: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_RESOURCES, 0.0))
    _until: float = 0.0

    def start(self) -> None:
        self.cluster.on_change = self._take_change
        self.cluster.on_decision = self._take_decision

    def pass_time(self, to: float) -> None:
        """Sample until `to`, which the clock is about to reach; nothing changes before."""
        while (to - self._next_at) / self.interval > _POINTS:
            self._thin()
        if to <= self._next_at:
            return
        sample = self.take_sample()
        for resource in _RESOURCES:
            used = sample.utilization.get(resource, 0.0)
            self._integral[resource] += used * (to - self._until)
        self._until = to
        while self._next_at < to:
            self.samples.append(replace(sample, at=self._next_at))
        if len(self.samples) > 2 * _POINTS:
            self._thin()

    def finish(self) -> None:
        """Add the last sample."""
        self.samples.append(self.take_sample())

    @property
    def _next_at(self) -> float:
        """The time of the next sample: they are equally far apart."""
        return len(self.samples) * self.interval

    def _thin(self) -> None:
        self.samples = self.samples[::2]
        self.interval *= 2

    def average(self, resource: str) -> float:
        """The utilization over the time of the samples."""
        return self._integral.get(resource, 0.0) / self._until if self._until else 0.0

    def take_sample(self) -> Sample:
        """The cluster now."""
        used, free = dict.fromkeys(_RESOURCES, 0), dict.fromkeys(_RESOURCES, 0)
        shares: list[float] = []
        count = 0
        for info in self.cluster.scheduler.cache.nodes.values():
            if info.node is None:
                continue
            count += 1
            for resource in _RESOURCES:
                used[resource] += info.requested.get(resource, 0)
                free[resource] += info.allocatable.get(resource, 0)
            if info.allocatable.get("cpu"):
                shares.append(info.requested.get("cpu", 0) / info.allocatable["cpu"])
        alive = [self.pods[uid] for uid in self._alive]
        pending = sum(pod.bound_at is None for pod in alive)
        return Sample(
            self.cluster.elapsed,
            count,
            pending,
            len(alive) - pending,
            {each: used[each] / free[each] if free[each] else 0.0 for each in _RESOURCES},
            statistics.pstdev(shares) if shares else 0.0,
        )

    def utilization_of(self, resource: str) -> float:
        """The present utilization of any resource."""
        used = free = 0
        for info in self.cluster.scheduler.cache.nodes.values():
            if info.node is not None:
                used += info.requested.get(resource, 0)
                free += info.allocatable.get(resource, 0)
        return used / free if free else 0.0

    def _take_decision(self, decision: Decision) -> None:
        self.decisions += 1
        record = self.pods.get(decision.pod_uid)
        if record is None:
            return
        record.message = decision.message
        if decision.result is Result.WAITING:
            record.message = decision.message or f"held by Permit with node {decision.node}"
        else:
            record.attempts = max(record.attempts + 1, decision.attempt)

    def _take_change(self, change: MemoryChange) -> None:
        if change.kind != "Pod":
            return
        pod = change.new or change.old
        assert isinstance(pod, Pod)
        uid, now = pod.metadata.uid, self.cluster.elapsed
        record = self.pods.get(uid)
        if record is None:
            record = self.pods[uid] = _record_of(pod, now)
            self._alive.add(uid)
        self._note_states(record, pod, now)
        for condition in _conditions(change.body):
            if condition["type"] == "DisruptionTarget" and condition["status"] == "True":
                record.disruption = _DISRUPTIONS.get(condition.get("reason", ""), "evicted")
                record.why_disrupted = condition.get("message", "")
        if change.new is None and record.ended_at is None:
            record.ended_at = now
        if record.ended_at is not None:
            self._alive.discard(uid)

    def _note_states(self, record: PodRecord, pod: Pod, now: float) -> None:
        if pod.spec.node_name and record.bound_at is None:
            record.bound_at, record.node = now, pod.spec.node_name
            record.node_labels = self.cluster.node_labels(record.node)
            record.message = ""
        record.is_terminating = pod.metadata.deletion_timestamp is not None
        record.labels, record.phase = pod.metadata.labels, pod.status.phase or "Pending"
        if record.phase == "Running" and record.running_at is None:
            record.running_at = now
        if record.phase in ("Succeeded", "Failed") and record.ended_at is None:
            record.ended_at = now


def _record_of(pod: Pod, now: float) -> PodRecord:
    metadata = pod.metadata
    workload = metadata.annotations.get(WORKLOAD, "")
    return PodRecord(metadata.namespace, metadata.name, workload, metadata.labels, now)


def _conditions(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from (body.get("status") or {}).get("conditions") or ()

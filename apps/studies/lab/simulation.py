"""One simulation: a base, changes, and a run of the scheduler on what they lead to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, NamedTuple

from apps.cluster import limits
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.engine.queue.past import parse_past_moment
from apps.scheduler.clock import VirtualClock
from apps.studies.lab.base import Base, LabAnswer, build_scheduler, read_base
from apps.studies.lab.configurations import choose_configuration
from apps.studies.lab.manifests import read_manifests
from apps.studies.lab.run import MAX_EXPLAINED, PreemptedPod, Run, SimulatedPod
from apps.studies.lab.simulated_changes import (
    Arrival,
    Changed,
    Changes,
    LostPod,
    Origin,
    apply_changes,
)
from apps.studies.past.past_version import parse_past_version


@dataclass(slots=True, kw_only=True)
class SimulationRequest:
    """What to simulate; without anything the pending pods are scheduled."""

    #: a YAML stream or objects: pods and workloads that are scheduled, nodes that are added or
    #: changed, and other objects that the scheduler reads
    objects: str | Sequence[Mapping[str, Any]] = ()
    #: of each given pod
    copies: int = 1
    cordon: Sequence[str] = ()
    uncordon: Sequence[str] = ()
    drain: Sequence[str] = ()
    delete_nodes: Sequence[str] = ()
    delete_pods: Sequence[str] = ()
    #: whether the pods that wait in the cluster are scheduled as well
    pending: bool = True
    #: the moment: "at" (with "zone"), "version" or "decision"; the present without any
    moment: Mapping[str, Any] = field(default_factory=dict)
    #: a KubeSchedulerConfiguration; or the number of a revision; the active one without either
    configuration: str = ""
    revision: int | None = None
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    #: the draws among equal nodes follow from it
    seed: int = 0
    #: "namespace/name" of the pods whose decision is explained; None: the first ones
    explain: Collection[str] | None = None


class MovedPod(NamedTuple):
    namespace: str
    name: str
    #: the node of the pod that it replaces
    left: str
    node: str


@dataclass(frozen=True, slots=True)
class Simulation(LabAnswer):
    """A simulation that has ended."""

    changed: Changed
    run: Run

    ANSWER: ClassVar = (
        *("state", "placed", "not_placed", "preempted", "moved", "lost"),
        *("attempts", "seconds", "quiet"),
    )

    @property
    def attempts(self) -> int:
        return self.run.attempts

    @property
    def preempted(self) -> Sequence[PreemptedPod]:
        return self.run.preempted

    @property
    def quiet(self) -> bool:
        """False: it ended because pods were tried too often."""
        return self.run.is_quiet

    @property
    def placed(self) -> list[SimulatedPod]:
        return [pod for pod in self.run.pods.values() if pod.is_placed]

    @property
    def not_placed(self) -> list[SimulatedPod]:
        return [pod for pod in self.run.pods.values() if not pod.is_placed]

    @property
    def moved(self) -> Sequence[MovedPod]:
        """Replacements that have a node."""
        return [
            MovedPod(pod.namespace, pod.name, pod.left, pod.node)
            for pod in self.placed
            if pod.origin is Origin.REPLACEMENT
        ]

    @property
    def lost(self) -> list[LostPod]:
        """Deleted pods that no controller replaces."""
        return [*self.changed.lost, *self.run.lost]

    @property
    def seconds(self) -> float:
        """How much time passed on the virtual clock."""
        return round(self.run.clock.at - self.base.at.timestamp(), 6)


def simulate(cluster: Cluster, request: SimulationRequest, *, user: str = "") -> Simulation:
    """Simulate; nothing is written. Raises the ApiError, or the ConfigError, that says why not."""
    base, changes = read_base_and_changes(cluster, request, user=user)
    changed = apply_changes(base, changes)
    waiting = list(pending_arrivals(base)) if request.pending else []
    return run_simulation(base, changed, waiting, seed=request.seed, explained=request.explain)


def read_base_and_changes(
    cluster: Cluster, request: SimulationRequest, *, user: str = ""
) -> tuple[Base, Changes]:
    """The base that a request names, under its configuration, and what it changes there."""
    _check(request)
    configuration = choose_configuration(
        cluster,
        text=request.configuration,
        revision=request.revision,
        feature_gates=request.feature_gates,
    )
    moment = parse_past_moment(cluster, request.moment)
    if moment is not None:
        # a time before the beginning is an error that names the earliest one
        parse_past_version(cluster, request.moment)
    base = read_base(cluster, moment, configuration)
    manifests = read_manifests(
        cluster, request.objects, nodes=base.nodes, copies=request.copies, user=user
    )
    return base, Changes(
        manifests,
        cordon=request.cordon,
        uncordon=request.uncordon,
        drain=request.drain,
        delete_nodes=request.delete_nodes,
        delete_pods=request.delete_pods,
    )


def run_simulation(
    base: Base,
    changed: Changed,
    waiting: Sequence[Arrival] = (),
    *,
    seed: int = 0,
    explained: Collection[str] | None = None,
) -> Simulation:
    """Schedule the pods that wait, then those that the changes lead to.

    Raises BadRequest if a pod whose decision is to be explained is not among them.
    """
    _check_explained(explained, waiting, changed.arrivals)
    clock = VirtualClock(base.at.timestamp())
    run = Run(build_scheduler(base, clock, seed=seed), clock, explained)
    try:
        run.add(waiting)
        run.add(changed.arrivals)
        run.run()
        run.describe_untried()
    finally:
        run.scheduler.close()
    return Simulation(base, changed, run)


def pending_arrivals(base: Base) -> Iterator[Arrival]:
    """The pods that wait in the cluster, oldest first."""
    pods = sorted(
        base.pending.values(), key=lambda pod: (pod.metadata.creation_timestamp or "", pod.key)
    )
    for pod in pods:
        if pod.metadata.deletion_timestamp is None:
            yield Arrival(pod, Origin.PENDING)


def _check_explained(explained: Collection[str] | None, *arrivals: Sequence[Arrival]) -> None:
    known = {arrival.pod.key for arrival in chain(*arrivals)}
    for key in explained or ():
        if key not in known:
            raise BadRequest(f"explain: pod {key} is not simulated: it neither waits nor is given")


def _check(request: SimulationRequest) -> None:
    if not limits.LAB_COPIES.admits(request.copies):
        raise BadRequest(f"copies: must be {limits.LAB_COPIES}")
    if request.configuration and request.revision is not None:
        raise BadRequest("revision: cannot be combined with configuration")
    if request.explain is not None and len(request.explain) > MAX_EXPLAINED:
        raise BadRequest(f"explain: at most {MAX_EXPLAINED} pods can be explained")

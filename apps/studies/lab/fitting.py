"""How many more pods fit: copies of a pod are scheduled until none fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Final

import msgspec

from apps.cluster import limits
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.scheduler.clock import VirtualClock
from apps.scheduler.objects import Pod
from apps.studies.lab.base import Base, LabAnswer, build_scheduler
from apps.studies.lab.manifests import Manifests
from apps.studies.lab.run import Run, SimulatedPod
from apps.studies.lab.simulated_changes import Arrival, Changes, Origin, apply_changes
from apps.studies.lab.simulation import SimulationRequest, read_base_and_changes

#: Copies that are tried by default.
DEFAULT_LIMIT: Final = 1000
_BATCH: Final = 200


@dataclass(frozen=True, slots=True)
class Fitting(LabAnswer):
    """How many copies fit, and what stops the next one."""

    #: `namespace/name`
    pod: str
    #: copies that fit
    count: int
    #: the limit was reached: more copies may fit
    limited: bool
    #: node -> copies, most first
    nodes: Mapping[str, int]
    #: why the next copy does not fit
    sentence: str = ""
    #: as kube-scheduler reports it of a pod that preempts nothing, without preemption's part
    message: str = ""

    ANSWER: ClassVar = ("state", "pod", "count", "limited", "nodes", "sentence", "message")


def count_fitting(
    cluster: Cluster, request: SimulationRequest, *, limit: int = DEFAULT_LIMIT, user: str = ""
) -> Fitting:
    """How many copies of the request's one pod fit besides what runs; nothing is preempted.

    The request's changes are applied first. Pending pods do not take room. BadRequest if there is
    not exactly one pod, or for a wrong limit.
    """
    if not limits.FITTING_PODS.admits(limit):
        raise BadRequest(f"limit: must be {limits.FITTING_PODS}")
    base, changes = read_base_and_changes(cluster, request, user=user)
    (pod,) = _single(changes.manifests)
    apply_changes(base, without_pods(changes))
    return _count(base, pod, limit, request.seed)


def without_pods(changes: Changes) -> Changes:
    """The same changes without the pods that they schedule."""
    manifests = Manifests([], changes.manifests.nodes, changes.manifests.others)
    return Changes(
        manifests,
        changes.cordon,
        changes.uncordon,
        changes.drain,
        changes.delete_nodes,
        changes.delete_pods,
    )


def without_preemption(pod: Pod) -> Pod:
    """The pod, which preempts nothing."""
    spec = msgspec.structs.replace(pod.spec, preemption_policy="Never")
    return msgspec.structs.replace(pod, spec=spec)


def _single(manifests: Manifests) -> Sequence[Pod]:
    if len(manifests.pods) != 1:
        raise BadRequest(f"objects: must have exactly one pod, not {len(manifests.pods)}")
    return manifests.pods


def _count(base: Base, pod: Pod, limit: int, seed: int) -> Fitting:
    clock = VirtualClock(base.at.timestamp())
    run = Run(build_scheduler(base, clock, seed=seed), clock)
    copies = (_copy(pod, number) for number in range(limit))
    try:
        while run.failed is None and (batch := list(islice(copies, _BATCH))):
            run.add(Arrival(copy, Origin.NEW) for copy in batch)
            run.run(stop=lambda: run.failed is not None)
        run.describe_untried()
    finally:
        run.scheduler.close()
    placed = Counter(each.node for each in run.pods.values() if each.is_placed)
    unplaced = run.failed or next((each for each in run.pods.values() if not each.is_placed), None)
    return Fitting(
        base,
        pod.key,
        placed.total(),
        limited=unplaced is None,
        nodes=dict(placed.most_common()),
        sentence=unplaced.sentence if unplaced is not None else "",
        message=_message(unplaced) if unplaced is not None else "",
    )


def _message(pod: SimulatedPod) -> str:
    """Without what preemption adds: the copies do not preempt, though the pod may."""
    return (pod.decision.filter_message if pod.decision is not None else "") or pod.message


def _copy(pod: Pod, number: int) -> Pod:
    metadata = msgspec.structs.replace(
        pod.metadata,
        name=f"{pod.metadata.name[:240]}-{number}",
        uid=f"{pod.metadata.uid}-{number}",
    )
    return msgspec.structs.replace(without_preemption(pod), metadata=metadata)

"""Whether a pending pod can ever be scheduled: never, with more capacity, or when it is its turn.

Each class is proven by running the filters: on the nodes as they are, and on the same nodes without
pods, cordons and taints of node conditions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

import msgspec

from apps.cluster.models import Cluster
from apps.engine.profiles.schedulers import assemble_scheduler
from apps.engine.results.refusals import group_statuses
from apps.scheduler.explaining.evaluation import Evaluation, evaluate
from apps.scheduler.framework.status import StatusError
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Node
from apps.scheduler.scheduler import Scheduler
from apps.studies.explanations.places import PAUSED
from apps.studies.explanations.reasons import describe_refusals
from apps.studies.explanations.states import states
from apps.studies.explanations.waits import WaitEstimate, estimate_waits
from apps.studies.rebuilding import PastState

#: Taints that follow from the condition of a node, which may change.
_CONDITION: Final = "node.kubernetes.io/"
#: Pods of a list at most.
MAX_LISTED: Final = 500


class Prospect(StrEnum):
    """What a pending pod waits for."""

    #: it would not fit on an empty cluster: its spec, or the cluster's nodes, have to change
    NEVER = "never"
    #: it would fit if nodes had fewer pods, or were ready and not cordoned
    NEEDS_CAPACITY = "needs capacity"
    #: it fits now, or waits for something that is not about nodes
    WAITS_ITS_TURN = "waits its turn"


@dataclass(frozen=True, slots=True)
class Outlook:
    """The class of a pending pod, with the proof and one dominant reason."""

    #: `never`: it would not fit on an empty cluster. `needs capacity`: it would fit if nodes had
    #: fewer pods. `waits its turn`: it fits now, or waits for something that is not about nodes
    prospect: Prospect
    #: what was tried, as a sentence; empty if the reason needs no proof
    proof: str
    #: why the pod is pending: a sentence or several
    reason: str
    #: the expected wait; None for pods that can never run or have scheduling gates, and with
    #: fewer than 10 comparable pods
    wait: WaitEstimate | None

    ANSWER: ClassVar[tuple[str, ...]] = ("prospect", "sentence", "wait")

    @property
    def sentence(self) -> str:
        """The proof, and the dominant reason."""
        return f"{self.proof} {self.reason}".strip()


@dataclass(frozen=True, slots=True)
class PodProspect(Outlook):
    """The outlook of a named pod."""

    namespace: str
    name: str

    ANSWER: ClassVar = (*Outlook.ANSWER, "namespace", "name")


@dataclass(frozen=True, slots=True)
class ProspectList:
    """The prospects of pending pods at one version."""

    resource_version: int
    #: pending pods
    total: int
    pods: Sequence[PodProspect]

    ANSWER: ClassVar[tuple[str, ...]] = ("resource_version", "total", "counts", "pods")

    @property
    def counts(self) -> Mapping[Prospect, int]:
        """Prospect -> how many of `pods` have it."""
        counted = Counter(pod.prospect for pod in self.pods)
        return {prospect: counted[prospect] for prospect in Prospect}


def find_prospects(cluster: Cluster, uids: Sequence[str]) -> dict[str, PodProspect]:
    """uid -> prospect of pods that are pending at the cluster's version; others are left out."""
    with states.now(cluster) as state:
        return _find(cluster, state, uids)


def list_prospects(cluster: Cluster, rows: slice = slice(MAX_LISTED)) -> ProspectList:
    """The prospects of the pods that are pending now, oldest first; those of `rows`."""
    with states.now(cluster) as state:
        pods = sorted(
            (pod for pod in state.pending.values() if pod.metadata.deletion_timestamp is None),
            key=lambda pod: (pod.metadata.creation_timestamp or "", pod.key),
        )
        by_uid = _find(cluster, state, [pod.metadata.uid for pod in pods[rows]])
        return ProspectList(state.version, len(pods), list(by_uid.values()))


def _find(cluster: Cluster, state: PastState, uids: Sequence[str]) -> dict[str, PodProspect]:
    classes: dict[str, tuple[Prospect, str, str]] = {}
    known: dict[bytes, tuple[Prospect, str, str]] = {}
    pods = [pod for uid in uids if (pod := state.pod(uid)) is not None]
    if not pods:
        return {}
    with _emptied(state) as empty:
        for pod in pods:
            metadata = pod.pod.metadata
            # pods with equal specs and labels have equal prospects
            key = msgspec.json.encode([metadata.namespace, metadata.labels, pod.pod.spec])
            if key not in known:
                known[key] = _classify(state.scheduler, empty, pod)
            classes[pod.uid] = known[key]
    waits = estimate_waits(
        cluster, (pod.pod for pod in pods if _waits_for_nodes(pod, classes[pod.uid][0]))
    )
    by_uid = {}
    for pod in pods:
        prospect, proof, reason = classes[pod.uid]
        if cluster.paused and prospect is Prospect.WAITS_ITS_TURN:
            reason = f"{reason} {PAUSED}".strip()
        wait = waits.get(pod.uid)
        by_uid[pod.uid] = PodProspect(prospect, proof, reason, wait, pod.namespace, pod.name)
    return by_uid


def _waits_for_nodes(pod: PodInfo, prospect: Prospect) -> bool:
    """Whether past waiting times say anything about the pod."""
    return prospect is not Prospect.NEVER and not pod.pod.spec.scheduling_gates


def _classify(full: Scheduler, empty: Scheduler, pod: PodInfo) -> tuple[Prospect, str, str]:
    """The prospect of a pod, its proof and the reason."""
    name = pod.pod.spec.scheduler_name
    if name not in full.profiles:
        return Prospect.NEVER, "", f"It waits for scheduler {name}, which no profile here has."
    if gates := pod.pod.spec.scheduling_gates:
        listed = ", ".join(gate.name for gate in gates)
        return Prospect.WAITS_ITS_TURN, "", f"It waits for its scheduling gates: {listed}."
    try:
        present, emptied = evaluate(full, pod), evaluate(empty, pod)
        return _compare(present, emptied, pod)
    except StatusError as failure:
        return Prospect.NEVER, f"A plugin fails: {failure.status.message}.", ""


def _compare(present: Evaluation, emptied: Evaluation, pod: PodInfo) -> tuple[Prospect, str, str]:
    fitting = len(present.feasible())
    if fitting:
        nodes = "1 node" if fitting == 1 else f"{fitting:,} nodes"
        return Prospect.WAITS_ITS_TURN, f"It fits on {nodes} now.", ""
    total = emptied.snapshot.total_nodes
    if not total:
        return Prospect.NEEDS_CAPACITY, "The cluster has no nodes.", ""
    later = len(emptied.feasible())
    if later:
        proof = f"It would fit on {later:,} of {total:,} nodes without pods."
        return Prospect.NEEDS_CAPACITY, proof, _reason(present, pod)
    if not emptied.outcome.is_success:
        proof = f"It would not fit on an empty cluster: {emptied.outcome.message}."
        return Prospect.NEVER, proof, ""
    if _could_pass(present, emptied):
        # such as a required affinity to pods that run, on nodes that are full
        return Prospect.NEEDS_CAPACITY, "", _reason(present, pod)
    return Prospect.NEVER, "It would not fit on an empty cluster.", _reason(emptied, pod)


def _could_pass(present: Evaluation, emptied: Evaluation) -> bool:
    """Whether each filter passes one node, with the pods that run or without any."""
    if not present.outcome.is_success:
        return False
    evaluations = (present, emptied)
    passing = [
        {
            name: {evaluation.snapshot.names[row] for row in passes.nonzero()[0].tolist()}
            for name, passes in evaluation.find_passing().items()
        }
        for evaluation in evaluations
    ]
    left = set(filter(None, present.snapshot.names))
    for name in passing[0].keys() | passing[1].keys():
        # a filter that is skipped passes all nodes
        left &= passing[0].get(name, left) | passing[1].get(name, left)
    return bool(left)


def _reason(evaluation: Evaluation, pod: PodInfo) -> str:
    snapshot = evaluation.snapshot
    if not evaluation.outcome.is_success:
        return f"{evaluation.outcome.message}."
    infos = [snapshot.info(row) for row, name in enumerate(snapshot.names) if name]
    return describe_refusals(
        group_statuses(evaluation.statuses(), snapshot.names),
        pod.requests,
        nodes=snapshot.total_nodes,
        largest=lambda resource: max(
            (info.allocatable.get(resource, 0) for info in infos), default=0
        ),
    )


@contextmanager
def _emptied(state: PastState) -> Iterator[Scheduler]:
    """A scheduler with the nodes of a state, ready, not cordoned, and without pods."""
    full = state.scheduler
    scheduler = assemble_scheduler(full.config, clock=full.clock, binds=False)
    for kind, items in full.cache.listers.by_kind.items():
        for item in items:
            scheduler.cache.listers.by_kind[kind].put(item)
    for info in full.cache.nodes.values():
        if info.node is not None:
            scheduler.cache.add_node(_healthy(info.node))
    try:
        yield scheduler
    finally:
        scheduler.close()


def _healthy(node: Node) -> Node:
    taints = tuple(each for each in node.spec.taints if not each.key.startswith(_CONDITION))
    spec = msgspec.structs.replace(node.spec, taints=taints, unschedulable=False)
    return msgspec.structs.replace(node, spec=spec)

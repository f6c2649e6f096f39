"""Runs a scheduler in memory, on a virtual clock, until nothing is left to do."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar, Final

import msgspec

from apps.cluster.errors import Timeout
from apps.engine.results.presenting import DecisionResults, read_results
from apps.scheduler.clock import VirtualClock
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import Eviction
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod
from apps.scheduler.scheduler import Scheduler
from apps.studies.lab.reasons import describe_pod
from apps.studies.lab.simulated_changes import Arrival, LostPod, Origin, new_pod

#: Decisions of a run that are kept whole, by default: each has a column for every plugin.
#: Nodes of each list in the explanation of a decision; `count` has the number of all.
FIRST_EXPLAINED: Final = 100
MAX_EXPLAINED: Final = 20
#: A run ends with an error after so many seconds.
DEADLINE: Final = 60.0
#: So often each pod is tried, on average; then the run ends as it is.
_MAX_ATTEMPTS: Final = 10
_SPARE_ATTEMPTS: Final = 1000


@dataclass(slots=True)
class SimulatedPod:
    """A pod that was scheduled, with its last attempt."""

    pod: Pod
    #: `new`: given. `pending`: it waits in the cluster. `replacement`: its controller creates it
    #: for a pod that was evicted or deleted
    origin: Origin
    scheduler: Scheduler
    #: the node of the pod that it replaces; empty for others
    left: str = ""
    #: empty: it is not placed
    node: str = ""
    attempts: int = 0
    #: as kube-scheduler reports it; or why there was no attempt
    message: str = ""
    #: where preemption makes room for it
    nominated_node: str = ""
    total_score: int | None = None
    feasible_nodes: int = 0
    #: nodes with the highest total score
    tied_nodes: int = 0
    #: the last attempt; None if it is not explained, or if there was none
    decision: Decision | None = None

    ANSWER: ClassVar = (
        *("namespace", "name", "origin", "left", "node", "nominated_node", "attempts"),
        *("total_score", "feasible_nodes", "tied_nodes", "message", "sentence", "explanation"),
    )

    @property
    def namespace(self) -> str:
        return self.pod.metadata.namespace

    @property
    def name(self) -> str:
        return self.pod.metadata.name

    @property
    def sentence(self) -> str:
        """Why this node, or why none."""
        return describe_pod(self.scheduler, self)

    @property
    def explanation(self) -> DecisionResults | None:
        """The last attempt; None if it is not explained. Lists of nodes have the first 100."""
        return read_results(self.decision, first=FIRST_EXPLAINED) if self.decision else None

    @property
    def key(self) -> str:
        return self.pod.key

    @property
    def is_placed(self) -> bool:
        return bool(self.node)


@dataclass(frozen=True, slots=True)
class PreemptedPod:
    """A pod that was evicted to make room."""

    namespace: str
    name: str
    uid: str
    node: str
    priority: int
    #: `namespace/name` of the pod that got the room
    by: str


@dataclass(slots=True)
class Run:
    """One run, and what it led to."""

    scheduler: Scheduler
    clock: VirtualClock
    #: "namespace/name" of the pods whose last decision is kept; None: the first ones
    explained: Collection[str] | None = None
    #: uid -> pod that is scheduled, in the order of arrival
    pods: dict[str, SimulatedPod] = field(default_factory=dict)
    preempted: list[PreemptedPod] = field(default_factory=list)
    lost: list[LostPod] = field(default_factory=list)
    attempts: int = 0
    #: the first pod that got no node
    failed: SimulatedPod | None = None
    #: False if the run ended because pods were tried too often
    is_quiet: bool = True
    #: uid -> pod as the scheduler knows it
    _known: dict[str, Pod] = field(default_factory=dict)
    #: how many pods were placed or evicted; and how many before the last attempt of each pod
    _progress: int = 0
    _tried: dict[str, int] = field(default_factory=dict)
    _kept: list[int] = field(default_factory=lambda: [0, 0])

    def add(self, arrivals: Iterable[Arrival]) -> None:
        """Let pods arrive now, one after the other."""
        for arrival in arrivals:
            pod = arrival.pod
            simulated = SimulatedPod(pod, arrival.origin, self.scheduler, arrival.left)
            self.pods[pod.metadata.uid] = simulated
            self._known[pod.metadata.uid] = pod
            at = _created_at(pod) if arrival.origin is Origin.PENDING else None
            self.scheduler.handle("Pod", None, pod, at)

    def run(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Schedule until no pod can be tried with another outcome, or `stop` is true.

        Raises Timeout when this takes too long.
        """
        until = time.monotonic() + DEADLINE
        while not stop():
            if self.attempts > _MAX_ATTEMPTS * len(self.pods) + _SPARE_ATTEMPTS:
                self.is_quiet = False
                break
            if time.monotonic() > until:
                raise Timeout(f"the simulation takes longer than {DEADLINE:g} seconds")
            decision = self.scheduler.schedule_one()
            if decision is not None:
                self._take(decision)
            elif not self._resolve_waiting() and not self._pass_time():
                break

    def describe_untried(self) -> None:
        """Give the pods that were not tried a message that says why."""
        for simulated in self.pods.values():
            if not simulated.attempts:
                simulated.message = self._describe_untried(simulated.pod)

    def _take(self, decision: Decision) -> None:
        """Note a decision, and act on it as the control plane would."""
        self.attempts += 1
        simulated = self.pods[decision.pod_uid]
        simulated.attempts += 1
        self._note(simulated, decision)
        if decision.result is Result.SCHEDULED:
            self._place(simulated, decision)
        elif decision.result is not Result.WAITING:
            self.failed = self.failed or simulated
            self._tried[decision.pod_uid] = self._progress
            if decision.nominating is not None:
                self._nominate(simulated, decision)

    def _place(self, simulated: SimulatedPod, decision: Decision) -> None:
        simulated.node, simulated.nominated_node = decision.node, ""
        self.scheduler.bound(decision)
        pending = self._known[decision.pod_uid]
        spec = msgspec.structs.replace(pending.spec, node_name=decision.node)
        self._update(pending, msgspec.structs.replace(pending, spec=spec))
        self._progress += 1

    def _nominate(self, simulated: SimulatedPod, decision: Decision) -> None:
        assert decision.nominating is not None
        simulated.nominated_node = node = decision.nominating.nominated_node
        pending = self._known[decision.pod_uid]
        status = msgspec.structs.replace(pending.status, nominated_node_name=node)
        self._update(pending, msgspec.structs.replace(pending, status=status))
        for intent in decision.intents:
            if isinstance(intent, Eviction) and intent.delete:
                self._evict(intent.uid, simulated)

    def _evict(self, uid: str, by: SimulatedPod) -> None:
        cached = self.scheduler.cache.find_pod(uid)
        if cached is None:
            return
        victim = self._known.pop(uid, cached.pod)
        node = cached.pod.spec.node_name
        self.preempted.append(
            PreemptedPod(cached.namespace, cached.name, uid, node, cached.priority, by.key)
        )
        self._progress += 1
        simulated = self.pods.pop(uid, None)
        self.scheduler.handle("Pod", victim, None)
        if victim.metadata.controller is not None:
            left = simulated.left if simulated is not None else node
            self.add([Arrival(new_pod(victim), Origin.REPLACEMENT, left or node)])
        elif simulated is not None:
            simulated.node, simulated.message = "", f"was preempted by {by.key}"
            self.pods[uid] = simulated
        else:
            reason = f"is preempted by {by.key}, and no controller replaces the pod"
            self.lost.append(LostPod(cached.namespace, cached.name, node, reason))

    def _update(self, old: Pod, new: Pod) -> None:
        self._known[new.metadata.uid] = new
        self.scheduler.handle("Pod", old, new)

    def _note(self, simulated: SimulatedPod, decision: Decision) -> None:
        simulated.message = decision.message
        simulated.feasible_nodes = len(decision.feasible)
        has_scores = decision.result is Result.SCHEDULED and len(decision.total) > 0
        simulated.total_score = int(decision.total.max()) if has_scores else None
        simulated.tied_nodes = len(decision.ties) if has_scores else 0
        simulated.decision = decision if self._keeps(simulated, decision) else None

    def _keeps(self, simulated: SimulatedPod, decision: Decision) -> bool:
        """Whether the decision is explained: if it is asked for, else the first ones."""
        if self.explained is not None:
            return simulated.key in self.explained
        if simulated.decision is not None:
            return True
        failed = int(decision.result is not Result.SCHEDULED)
        self._kept[failed] += 1
        return self._kept[failed] <= MAX_EXPLAINED // 2

    def _resolve_waiting(self) -> bool:
        """Continue with the pods that Permit plugins held; False if none continues."""
        decisions = self.scheduler.resolve_waiting()
        for decision in decisions:
            self._take(decision)
        return bool(decisions)

    def _pass_time(self) -> bool:
        """Set the clock to the end of the next backoff; False if no outcome can differ then."""
        waiting = self.scheduler.queue.contents.backoff_pods()
        if all(self._tried.get(info.uid) == self._progress for info in waiting):
            return False
        # a backoff ends with the second that its expiry names
        self.clock.at = max(self.clock.at, min(i.backoff_expiry or 0.0 for i in waiting) + 1.0)
        self.scheduler.queue.flush_backoff_completed()
        return True

    def _describe_untried(self, pod: Pod) -> str:
        """Why a pod was not tried."""
        framework = self.scheduler.profiles.get(pod.spec.scheduler_name)
        if framework is None:
            return f"no profile has the schedulerName {pod.spec.scheduler_name}"
        gate = framework.run_pre_enqueue_plugins(framework.handle.view(PodInfo(pod)))
        if not gate.is_success:
            return f"{gate.plugin}: {gate.message}"
        return "was not tried"


def _created_at(pod: Pod) -> float | None:
    created = pod.metadata.creation_timestamp
    return datetime.fromisoformat(created).astimezone(UTC).timestamp() if created else None

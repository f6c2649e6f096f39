"""What an attempt does, extension point by extension point, without writing anything."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from apps.cluster.errors import Conflict, NotFound
from apps.cluster.models import Cluster
from apps.engine.queue.listing import Part, QueueFilter, list_pods
from apps.engine.results.scores import ScoreMatrix, score_matrix
from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.decision import Decision, Result
from apps.scheduler.failure import unreserve_and_forget
from apps.scheduler.framework.status import Status
from apps.studies.debugger.cycle import Changes, Cycle
from apps.studies.debugger.state_values import describe_state
from apps.studies.explanations.states import states
from apps.studies.rebuilding import PastState


class StateEntry(NamedTuple):
    key: str
    #: a field on each line, in short
    value: str


class NodeVerdict(NamedTuple):
    node: str
    #: by which plugin and why; empty if it passed
    rejected: str
    is_changed: bool


@dataclass(frozen=True, slots=True)
class Point:
    """An extension point after it has run."""

    #: the extension point, or two that run together
    name: str
    #: `Success`, or the label of another code
    code: str
    message: str
    #: those that ran, in order
    plugins: Sequence[str]
    #: those that will not run for this pod
    skipped: Sequence[str]
    #: what was added to the cycle state
    state: Sequence[StateEntry]


@dataclass(frozen=True, slots=True)
class SteppedAttempt:
    """An attempt that was run in memory at one version of the cluster."""

    #: the version of the cluster that it saw
    version: int
    decision: Decision
    #: in the order in which they ran
    points: Sequence[Point]
    changes: Changes
    #: in the order of rows
    nodes: Sequence[NodeVerdict]
    scores: ScoreMatrix

    ANSWER: ClassVar = (
        *("version", "pod", "result", "node", "message", "points", "nodes", "scores"),
    )

    @property
    def pod(self) -> str:
        return self.decision.pod_key

    @property
    def result(self) -> Result:
        return self.decision.result

    @property
    def node(self) -> str:
        return self.decision.node

    @property
    def message(self) -> str:
        return self.decision.message


def next_pod(cluster: Cluster) -> str:
    """The uid of the pod that the scheduler would take next; "" if none is ready."""
    for part in (Part.ACTIVE, Part.BACKOFF):
        queued = list_pods(cluster, QueueFilter(queue=part.value), limit=1)
        if queued:
            return str(queued[0].uid)
    return ""


def find_pending(cluster: Cluster, key: str) -> str:
    """The uid of a pending pod, "namespace/name"; NotFound if there is none."""
    namespace, _, name = key.rpartition("/")
    queued = list_pods(cluster, QueueFilter(pod=key, namespace=namespace or "default"), limit=100)
    for each in queued:
        if each.name == name:
            return str(each.uid)
    raise NotFound("pending pods", key)


def step(
    cluster: Cluster, uid: str, changes: Changes, *, version: int | None = None
) -> SteppedAttempt:
    """Run an attempt of a pending pod; `version`: Conflict if the cluster is at another one.

    Raises NotFound for a pod that is not pending. The state is the same afterwards.
    """
    with states.now(cluster) as state:
        if version is not None and state.version != version:
            raise Conflict("clusters", cluster.name, f"it has changed since version {version}")
        return _run(state, uid, changes)


def _run(state: PastState, uid: str, changes: Changes) -> SteppedAttempt:
    scheduler, pod = state.scheduler, state.pod(uid)
    framework = scheduler.profiles.get(pod.pod.spec.scheduler_name) if pod is not None else None
    if pod is None or framework is None:
        raise NotFound("pending pods", uid)
    attempt = new_attempt(framework, pod)
    nomination = scheduler.queue.nominator.get(uid)
    recording = _Recording()
    start = scheduler.context.next_start_node_index
    status = Cycle(changes, note=recording.note)(scheduler.context, attempt)
    scheduler.context.next_start_node_index = start
    decision = attempt.decision
    if status.is_success or status.is_wait:
        decision.result = Result.SCHEDULED
        unreserve_and_forget(scheduler.cache, attempt)
        if nomination is not None:
            scheduler.queue.add_nominated_pod(nomination.pod_info, nomination.node_name)
    else:
        decision.result = Result.UNSCHEDULABLE if status.is_rejected else Result.ERROR
        decision.message = decision.message or status.message
    return SteppedAttempt(
        state.version,
        decision,
        recording.points,
        changes,
        _list_verdicts(decision, changes.verdicts),
        score_matrix(decision),
    )


def _list_verdicts(decision: Decision, changed: Container[str]) -> list[NodeVerdict]:
    statuses, verdicts = decision.node_statuses, []
    for row, name in enumerate(decision.nodes):
        if name:
            status = decision.pre_filter if statuses is None else statuses.at(row)
            passed = status is None or status.is_success
            why = "" if passed or status is None else f"{status.plugin}: {status.message}"
            verdicts.append(NodeVerdict(name, why, name in changed))
    return verdicts


class _Recording:
    """Notes each point, and what it added to the cycle state."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._known: set[str] = set()

    def note(self, name: str, attempt: Attempt, status: Status) -> None:
        entries = attempt.state.entries()
        known = self._known
        new = [key for key in entries if key not in known]
        added = [StateEntry(key, describe_state(entries[key])) for key in new]
        self._known |= entries.keys()
        durations = attempt.state.plugin_durations
        ran = {plugin: None for part in name.split(" and ") for plugin in durations.get(part, ())}
        skipped = {
            "PreFilter": attempt.state.skip_filter,
            "PreScore and Score": attempt.state.skip_score,
        }.get(name, set())
        self.points.append(
            Point(name, status.code.label, status.message, list(ran), sorted(skipped), added)
        )

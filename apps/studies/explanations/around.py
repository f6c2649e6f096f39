"""The state around a decision: nodes, their pods and pending pods, as the scheduler saw them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.engine.models import SchedulingDecision
from apps.engine.results.refusals import group_refusals
from apps.scheduler.decision import Decision
from apps.scheduler.framework.status import StatusError
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.objects import Pod
from apps.studies.explanations.states import states
from apps.studies.rebuilding import PastState

Outcome: TypeAlias = Literal["chosen", "feasible", "rejected", "not evaluated"]


@dataclass(frozen=True, slots=True)
class PodThen:
    """A pod on a node, or a pending one."""

    namespace: str
    name: str
    uid: str
    priority: int
    #: CPU in milli-CPU, the others in bytes or whole units
    requests: Mapping[str, int]
    #: the scheduler had assumed it on the node; its binding was not written yet
    assumed: bool = False


@dataclass(frozen=True, slots=True)
class NodeThen:
    """A node with the pods on it, and what the decision found about it."""

    name: str
    unschedulable: bool
    taints: Sequence[str]
    #: resource -> [requested, allocatable], in the units of requests; `pods` is among them
    amounts: Mapping[str, tuple[int, int]]
    pods: Sequence[PodThen]
    outcome: Outcome
    #: the plugin that rejected it, and its reasons
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StateAround:
    """The state that a decision saw."""

    at: datetime
    version: int
    #: decisions of this version before it
    sequence: int
    #: by name
    nodes: Sequence[NodeThen] = ()
    #: pods without a node, by priority, the pod of the decision among them
    pending: Sequence[PodThen] = ()
    #: why the state cannot be rebuilt; empty if it is
    gap: str = ""


def read_state_around(
    row: SchedulingDecision, decision: Decision, *, pods_of: Collection[str] | None = None
) -> StateAround:
    """The state that the decision of a ledger row saw, nodes and pods by name.

    With `pods_of`, only these nodes list their pods.
    """
    try:
        with states.before(row) as state:
            nodes = _describe_nodes(state, decision, pods_of)
            pending = [_describe_pending(pod) for pod in state.pending.values()]
    except ApiError as expired:
        return _without_state(row, expired.message)
    except Cluster.DoesNotExist:
        return _without_state(row, "The cluster is deleted; only its ledger remains.")
    except StatusError as failure:
        return _without_state(row, failure.status.message)
    ordered = sorted(pending, key=lambda pod: (-pod.priority, pod.namespace, pod.name))
    return StateAround(row.at, row.cluster_version, row.sequence, nodes, ordered)


def _without_state(row: SchedulingDecision, gap: str) -> StateAround:
    return StateAround(row.at, row.cluster_version, row.sequence, gap=gap)


def _describe_nodes(
    state: PastState, decision: Decision, pods_of: Collection[str] | None
) -> list[NodeThen]:
    outcomes = _outcomes(decision)
    nodes = state.scheduler.cache.nodes
    return [
        _describe_node(
            info,
            _describe_pods(state, info) if pods_of is None or name in pods_of else (),
            *outcomes.get(name, ("not evaluated", "")),
        )
        for name, info in sorted(nodes.items())
        if info.node is not None
    ]


def _describe_node(
    info: NodeInfo, pods: Sequence[PodThen], outcome: Outcome, reason: str
) -> NodeThen:
    assert info.node is not None
    spec = info.node.spec
    names = {*info.allocatable, *info.requested}
    amounts = {
        name: (info.requested.get(name, 0), info.allocatable.get(name, 0)) for name in sorted(names)
    }
    amounts["pods"] = len(info.pods), info.allowed_pods
    return NodeThen(
        info.name,
        spec.unschedulable,
        [f"{taint.key}={taint.value}:{taint.effect}".replace("=:", ":") for taint in spec.taints],
        amounts,
        pods,
        outcome,
        reason,
    )


def _describe_pods(state: PastState, info: NodeInfo) -> list[PodThen]:
    known = state.scheduler.cache.pods
    pods = [
        _describe_pod(pod, assumed=pod.uid in known and known[pod.uid].assumed)
        for pod in info.pods.values()
    ]
    return sorted(pods, key=lambda pod: (pod.namespace, pod.name))


def _describe_pod(pod: PodInfo, *, assumed: bool) -> PodThen:
    metadata = pod.pod.metadata
    return PodThen(
        metadata.namespace,
        metadata.name,
        metadata.uid,
        pod.pod.spec.priority or 0,
        dict(pod.requests),
        assumed,
    )


def _describe_pending(pod: Pod) -> PodThen:
    return _describe_pod(PodInfo(pod), assumed=False)


def _outcomes(decision: Decision) -> dict[str, tuple[Outcome, str]]:
    """The outcome of each node of the decision, and the reason of a rejection."""
    names = decision.nodes
    outcomes: dict[str, tuple[Outcome, str]] = {
        names[int(row)]: ("feasible", "") for row in decision.feasible
    }
    for group in group_refusals(decision):
        outcome: Outcome = "rejected" if group.is_evaluated else "not evaluated"
        reason = ": ".join(filter(None, (group.source, group.reason)))
        outcomes |= dict.fromkeys(group.nodes, (outcome, reason))
    if decision.node:
        outcomes[decision.node] = ("chosen", "")
    return outcomes

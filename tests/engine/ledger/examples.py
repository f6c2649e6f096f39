"""Decisions of every kind that the ledger stores, and their values in a form to compare."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from apps.scheduler.decision import Decision, PermitWait, Result
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.extender_calls import ExtenderCall, ExtenderVerb
from apps.scheduler.framework.interface import Candidate, NominatingInfo, PostFilterResult
from apps.scheduler.framework.plugin_scores import ScoreColumn
from apps.scheduler.framework.ranking import Ranking
from apps.scheduler.framework.status import SUCCESS, Code, Status, error, unschedulable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import ObjectMeta, Pod

UID = "6f1f5a0c-3c68-4d43-9d27-0d5b9d7f6a01"
#: a snapshot with a row that holds no node any more
NODES = ("node-a", "", "node-b", "node-c", "node-d")
DURATIONS = {"PreFilter": 41_000, "Filter": 120_500, "Score": 90_250}
PLUGIN_DURATIONS = {
    "PreFilter": {"NodeResourcesFit": 9_000, "PodTopologySpread": 11_000},
    "Filter": {"NodeUnschedulable": 2_000, "NodeResourcesFit": 30_000},
    "Score": {"NodeResourcesFit": 15_000},
}


def decisions() -> dict[str, Decision]:
    """Name of the case -> decision."""
    return {
        "scheduled among equals": _scheduled(),
        "scheduled by an only feasible node": _only_feasible(),
        "nominated node taken at once": _nominated(),
        "unschedulable for many reasons": _unschedulable(),
        "preemption with candidates": _preemption(),
        "preemption in vain": _preemption_in_vain(),
        "rejected by PreFilter": _pre_filter_rejection(),
        "allowed by Permit after a wait": _permit_wait(),
        "rejected by Permit after a wait": _permit_rejection(),
        "extenders": _extenders(),
        "failed before PreFilter": Decision(**_pod(), message="no such plugin"),
    }


def facts(decision: Decision) -> dict[str, Any]:
    """Everything that the ledger gives back, as JSON holds it; maps whose order counts as lists."""
    values = {
        **{name: msgspec.to_builtins(getattr(decision, name)) for name in _COMPARED},
        **{name: sorted(getattr(decision, name)) for name in _SETS},
        "pre_filter_nodes": decision.pre_filter_nodes and sorted(decision.pre_filter_nodes),
        "node_statuses": _verdicts(decision.node_statuses),
        "feasible": decision.feasible.tolist(),
        "total": decision.total.tolist(),
        "ties": decision.ties.tolist(),
        "scores": [
            [plugin, column.raw.tolist(), column.normalized.tolist(), column.weight]
            for plugin, column in decision.scores.items()
        ],
        "durations": list(decision.durations.items()),
        "plugin_durations": [
            [point, list(plugins.items())] for point, plugins in decision.plugin_durations.items()
        ],
        "post_filter": _post_filter(decision.post_filter),
    }
    return dict(msgspec.json.decode(msgspec.json.encode(values)))


_COMPARED = (
    "pod_key",
    "pod_uid",
    "profile",
    "attempt",
    "result",
    "node",
    "message",
    "filter_message",
    "nodes",
    "total_nodes",
    "start",
    "evaluated",
    "nominated_fast_path",
    "pre_filter",
    "draw",
    "post_filter_status",
    "nominating",
    "rejection",
    "permit_wait",
    "extender_calls",
)
_SETS = ("filter_skipped", "score_skipped", "unschedulable_plugins", "pending_plugins")


def _verdicts(statuses: NodeStatuses | None) -> dict[str, Any] | None:
    if statuses is None:
        return None
    return {
        "ids": statuses.ids.tolist(),
        "dtype": str(statuses.ids.dtype),
        "statuses": msgspec.to_builtins(statuses.statuses),
        "absent": msgspec.to_builtins(statuses.absent),
    }


def _post_filter(result: PostFilterResult | None) -> dict[str, Any] | None:
    if result is None:
        return None
    return {
        "candidates": msgspec.to_builtins(result.candidates),
        "ties": list(result.ties),
        "decided_by": result.decided_by,
        "offset": result.offset,
        "node_statuses": _verdicts(result.node_statuses),
    }


def _pod() -> dict[str, Any]:
    return {
        "pod_key": "shop/web-1",
        "pod_uid": UID,
        "profile": "default-scheduler",
        "nodes": NODES,
        "total_nodes": 4,
        "durations": DURATIONS,
        "plugin_durations": PLUGIN_DURATIONS,
    }


def _statuses(*ids: int, reasons: tuple[Status, ...] = ()) -> NodeStatuses:
    return NodeStatuses(np.array(ids, dtype=np.int32), [None, *reasons])


def _scores(*totals: int) -> dict[str, ScoreColumn]:
    """Three plugins: normalized otherwise than raw, normalized as raw, negative."""
    raw = np.array(totals, dtype=np.int64)
    same = np.full(len(totals), 7, dtype=np.int64)
    return {
        "NodeResourcesFit": ScoreColumn(raw, raw.copy(), 1),
        "PodTopologySpread": ScoreColumn(same * 1_000_000_007, same, 2),
        "InterPodAffinity": ScoreColumn(-raw, raw // 2, 2),
    }


def _scheduled() -> Decision:
    scores = _scores(40, 90, 90)
    total = sum((column.weighted for column in scores.values()), np.zeros(3, dtype=np.int64))
    feasible = np.array([0, 2, 4])
    return Decision(
        **_pod(),
        attempt=2,
        result=Result.SCHEDULED,
        node="node-d",
        node_statuses=_statuses(
            0,
            -1,
            0,
            1,
            0,
            reasons=(Status(Code.UNSCHEDULABLE, ("Insufficient cpu",), "NodeResourcesFit"),),
        ),
        start=3,
        evaluated=4,
        filter_skipped=frozenset({"NodePorts", "VolumeBinding"}),
        score_skipped=frozenset({"ImageLocality"}),
        unschedulable_plugins=frozenset({"NodeResourcesFit"}),
        feasible=feasible,
        scores=scores,
        ranking=Ranking(feasible, total),
        draw=1,
        nominating=NominatingInfo(""),
    )


def _only_feasible() -> Decision:
    """Nothing is scored; PreFilter had narrowed the search."""
    return Decision(
        **_pod(),
        result=Result.SCHEDULED,
        node="node-b",
        node_statuses=_statuses(-1, -1, 0, -1, -1),
        evaluated=1,
        pre_filter_nodes=frozenset({"node-b"}),
        feasible=np.array([2]),
    )


def _nominated() -> Decision:
    return Decision(
        **_pod(),
        attempt=3,
        result=Result.SCHEDULED,
        node="node-c",
        node_statuses=_statuses(-1, -1, -1, 0, -1),
        evaluated=1,
        nominated_fast_path=True,
        feasible=np.array([3]),
    )


_REFUSALS = (
    Status(Code.UNSCHEDULABLE, ("Insufficient cpu", "Insufficient memory"), "NodeResourcesFit"),
    Status(
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        ("node(s) had untolerated taint {dedicated: db}",),
        "TaintToleration",
    ),
    Status(Code.PENDING, ("node(s) wait for a claim",), "DynamicResources"),
    Status(Code.UNSCHEDULABLE, ("Insufficient cpu",), "NodeResourcesFit"),
)
_FILTER_MESSAGE = "0/4 nodes are available: 1 Insufficient memory, 2 Insufficient cpu."


def _refused() -> dict[str, Any]:
    return {
        **_pod(),
        "result": Result.UNSCHEDULABLE,
        "filter_message": _FILTER_MESSAGE,
        "node_statuses": _statuses(1, -1, 2, 3, 4, reasons=_REFUSALS),
        "start": 2,
        "evaluated": 4,
        "unschedulable_plugins": frozenset({"NodeResourcesFit", "TaintToleration"}),
        "pending_plugins": frozenset({"DynamicResources"}),
    }


def _unschedulable() -> Decision:
    refused = _refused()
    refused["node_statuses"].absent = Status(
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) didn't match",), "NodeAffinity"
    )
    return Decision(**refused, message=_FILTER_MESSAGE)


def _preemption() -> Decision:
    victim = PodInfo(Pod(metadata=ObjectMeta(name="batch-1", namespace="shop", uid="u1")))
    tried = _statuses(
        -1, -1, 1, -1, -1, reasons=(unschedulable("No preemption victims found").by("Preempt"),)
    )
    return Decision(
        **_refused(),
        message=f"{_FILTER_MESSAGE} preemption: 1 node(s) were tried in vain.",
        post_filter_status=Status(Code.SUCCESS, (), "DefaultPreemption"),
        post_filter=PostFilterResult(
            nominating=NominatingInfo("node-a"),
            victims=(victim,),
            candidates=(
                Candidate("node-a", ("shop/batch-1",), 1, (1, 100, -5, 1, 170_000)),
                Candidate("node-d", ("shop/batch-2", "ops/batch-3"), 0, (0, 2**31, -5, 2, 3)),
            ),
            node_statuses=tried,
            ties=("node-a", "node-d"),
            decided_by="random",
            offset=2,
        ),
        nominating=NominatingInfo("node-a"),
    )


def _preemption_in_vain() -> Decision:
    return Decision(
        **_refused(),
        message=f"{_FILTER_MESSAGE} preemption: not helpful.",
        post_filter_status=Status(
            Code.UNSCHEDULABLE, ("preemption: not helpful.",), "DefaultPreemption"
        ),
        nominating=NominatingInfo(""),
    )


def _pre_filter_rejection() -> Decision:
    said = 'persistentvolumeclaim "data" not found'
    return Decision(
        **_pod(),
        result=Result.UNSCHEDULABLE,
        message=f"0/4 nodes are available: {said}.",
        filter_message=f"0/4 nodes are available: {said}.",
        pre_filter=Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (said,), "VolumeBinding"),
        unschedulable_plugins=frozenset({"VolumeBinding"}),
    )


def _permit_wait() -> Decision:
    decision = _scheduled()
    decision.permit_wait = PermitWait({"Gatekeeper": 60.0, "Quorum": 15.5}, 4.25, SUCCESS)
    return decision


def _permit_rejection() -> Decision:
    rejection = Status(Code.UNSCHEDULABLE, ("the group is not complete",), "Quorum")
    decision = _scheduled()
    decision.result = Result.UNSCHEDULABLE
    decision.message = rejection.message
    decision.rejection = rejection
    decision.permit_wait = PermitWait({"Quorum": 15.5}, 15.5, rejection)
    return decision


def _extenders() -> Decision:
    """One answered, the other did not; the pod failed at the binding."""
    url = "https://licences.example/"
    decision = _scheduled()
    decision.result = Result.ERROR
    decision.message = "the binding was refused"
    decision.rejection = error("the binding was refused")
    decision.extender_calls = [
        ExtenderCall("licences", f"{url}filter", ExtenderVerb.FILTER, 4, 3, 2_000_000),
        ExtenderCall("racks", f"{url}rank", ExtenderVerb.PRIORITIZE, 3, 0, 5, "EOF", ignored=True),
        ExtenderCall("licences", f"{url}bind", ExtenderVerb.BIND, 1, 0, 9, "refused"),
    ]
    return decision

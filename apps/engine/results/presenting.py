"""A decision as JSON, for the API and the pages: refusals by status, scores as columns.

Raw scores are 64-bit integers. Clients that read numbers as doubles, such as JavaScript, round
those beyond 2^53.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from apps.cluster.models import Cluster
from apps.engine.results.refusals import RefusalGroup, find_refusal, group_refusals
from apps.engine.results.scores import ScoreMatrix, score_matrix
from apps.scheduler.decision import Decision
from apps.scheduler.framework.status import Status
from apps.scheduler.preemption.ranking import CRITERIA

Json = dict[str, Any]


def present_decision(decision: Decision, *, first: int | None = None) -> Json:
    """Everything that an attempt found; of each list of nodes the `first` ones, or all."""
    return {
        "refusals": present_refusals(decision, first=first),
        "scores": present_scores(score_matrix(decision), first=first),
        "ties": decision.tied_nodes()[:first],
        "pre_filter": present_status(decision.pre_filter),
        "rejection": present_status(decision.rejection),
        "search": present_search(decision),
        "preemption": present_preemption(decision),
        "durations": dict(decision.durations),
        "plugin_durations": decision.plugin_durations,
        "extender_calls": present_extender_calls(decision),
        "permit_wait": present_permit_wait(decision),
    }


def present_refusals(decision: Decision, *, first: int | None = None) -> list[Json]:
    """Each status with the nodes it rejects, in the order of `group_refusals`."""
    return [
        {**_present_group(group), "count": group.count, "nodes": list(group.nodes[:first])}
        for group in group_refusals(decision)
    ]


def present_scores(matrix: ScoreMatrix, *, first: int | None = None) -> Json:
    """The matrix as columns, in its order."""
    return {
        "nodes": list(matrix.nodes[:first]),
        "ranks": matrix.ranks[:first].tolist(),
        "total": matrix.total[:first].tolist(),
        "tied": matrix.tied,
        "chosen": matrix.chosen,
        "plugins": [
            {
                "plugin": plugin.name,
                "weight": plugin.weight,
                "raw": plugin.raw[:first].tolist(),
                "normalized": plugin.normalized[:first].tolist(),
            }
            for plugin in matrix.plugins
        ],
    }


def present_node(decision: Decision, node: str) -> Json:
    """The refusal or the scores of one node; KeyError if it was not in the cluster."""
    if not node or node not in decision.nodes:
        raise KeyError(node)
    group, matrix = find_refusal(decision, node), score_matrix(decision)
    place = matrix.find_place(node)
    return {
        "node": node,
        "refusal": None if group is None else _present_group(group),
        "scores": [] if place is None else [asdict(score) for score in matrix.scores_at(place)],
        "total": None if place is None else int(matrix.total[place]),
        "rank": None if place is None else int(matrix.ranks[place]),
    }


def present_search(decision: Decision) -> Json:
    """Where the search for nodes started, how many it evaluated, and the tie that was drawn."""
    allowed = decision.pre_filter_nodes
    return {
        "start": decision.start,
        "evaluated": decision.evaluated,
        "nominated_node_only": decision.nominated_fast_path and not decision.is_batched,
        "batch": _present_batch(decision),
        "pre_filter_nodes": None if allowed is None else sorted(allowed),
        "filter_skipped": sorted(decision.filter_skipped),
        "score_skipped": sorted(decision.score_skipped),
        "draw": decision.draw if len(decision.ties) else None,
    }


def _present_batch(decision: Decision) -> Json | None:
    hint = decision.hint
    if hint is None:
        return None
    return {
        "node": hint.node,
        "selected": decision.is_batched,
        "pod": hint.pod_key,
        "pod_uid": hint.pod_uid,
        "attempt": hint.attempt,
    }


def describe_tie(tied_nodes: int, tie_break: str) -> str:
    """How one of several nodes with the same score was selected; empty without a tie."""
    if tied_nodes < 2:
        return ""
    if tie_break == Cluster.TieBreak.FIRST_NAME:
        return f"the first by name of {tied_nodes:,} nodes with the same score"
    return f"drawn from {tied_nodes:,} nodes with the same score"


def present_preemption(decision: Decision) -> Json | None:
    """The candidates for preemption and the deciding criterion; None if PostFilter was not run."""
    if decision.post_filter_status is None:
        return None
    result = decision.post_filter
    return {
        "outcome": _present_any_status(decision.post_filter_status),
        "nominated_node": decision.nominating.nominated_node if decision.nominating else None,
        "candidates": [
            {
                "node": candidate.node,
                "victims": list(candidate.victims),
                "pdb_violations": candidate.pdb_violations,
                "figures": dict(zip(CRITERIA, candidate.figures, strict=False)),
            }
            for candidate in (result.candidates if result else ())
        ],
        "ties": list(result.ties) if result else [],
        "decided_by": result.decided_by if result else "",
        "offset": result.offset if result else 0,
    }


def present_extender_calls(decision: Decision) -> list[Json]:
    """The calls of extenders, in order."""
    return [asdict(call) for call in decision.extender_calls]


def present_permit_wait(decision: Decision) -> Json | None:
    """How long the pod waited for Permit plugins; None if none returned Wait."""
    wait = decision.permit_wait
    if wait is None:
        return None
    return {
        "timeouts": dict(wait.timeouts),
        "seconds": wait.seconds,
        "rejection": present_status(wait.outcome),
    }


def present_status(status: Status | None) -> Json | None:
    """A status that is not a success; None for success and for no status."""
    return None if status is None or status.is_success else _present_any_status(status)


def _present_any_status(status: Status) -> Json:
    return {
        "plugin": status.plugin,
        "code": status.code.label,
        "reasons": list(status.reasons),
    }


def _present_group(group: RefusalGroup) -> Json:
    return {
        "extension_point": group.extension_point,
        "plugin": group.plugin,
        "code": group.code,
        "reasons": list(group.reasons),
    }

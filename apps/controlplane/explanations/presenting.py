"""A decision in full, as the API shows it: refusals by node, scores as columns."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from apps.scheduler.decision import Decision
from apps.scheduler.framework.status import Status
from apps.scheduler.preemption.ranking import CRITERIA

Body = dict[str, Any]


def verdicts(decision: Decision) -> list[Body]:
    """Each refusal with the nodes it met, most frequent first."""
    statuses = decision.node_statuses
    if statuses is None:
        return []
    by_status: dict[Status, list[str]] = {}
    for row, name in enumerate(decision.nodes):
        refusal = statuses.at(row) if name else None
        if refusal is not None:
            by_status.setdefault(refusal, []).append(name)
    ordered = sorted(by_status.items(), key=lambda item: -len(item[1]))
    return [{**_told(refusal), "nodes": names} for refusal, names in ordered]


def scores(decision: Decision) -> Body:
    """The scores of all feasible nodes as columns, the best total first."""
    order = np.argsort(-decision.total, kind="stable")
    if not len(decision.total):
        order = np.arange(len(decision.feasible))
    return {
        "nodes": [decision.nodes[row] for row in decision.feasible[order]],
        "total": decision.total[order].tolist() if len(decision.total) else [],
        "plugins": [
            {
                "plugin": plugin,
                "weight": column.weight,
                "raw": column.raw[order].tolist(),
                "normalized": column.normalized[order].tolist(),
            }
            for plugin, column in decision.scores.items()
        ],
    }


def node_verdict(decision: Decision, node: str) -> Body:
    """What became of one node; KeyError when it was not in the cluster."""
    refusal = decision.status_of(node)
    found: Body = {"node": node, "refusal": status(refusal), "scores": [], "total": None}
    if refusal is not None:
        return found
    for plugin, (raw, normalized, weighted) in decision.scores_of(node).items():
        found["scores"].append(
            {"plugin": plugin, "raw": raw, "normalized": normalized, "weighted": weighted}
        )
    found["total"] = sum(score["weighted"] for score in found["scores"])
    return found


def search(decision: Decision) -> Body:
    """Where the search for nodes began, how far it went, and which of the best was drawn."""
    narrowed = decision.pre_filter_nodes
    return {
        "start": decision.start,
        "evaluated": decision.evaluated,
        "nominated_node_only": decision.nominated_fast_path,
        "pre_filter_nodes": None if narrowed is None else sorted(narrowed),
        "filter_skipped": sorted(decision.filter_skipped),
        "score_skipped": sorted(decision.score_skipped),
        "draw": decision.draw if len(decision.ties) else None,
    }


def preemption(decision: Decision) -> Body | None:
    """The nodes where evictions would make room, and what told the best; None if none was asked."""
    if decision.post_filter_status is None:
        return None
    found = decision.post_filter
    return {
        "outcome": _told(decision.post_filter_status),
        "nominated_node": decision.nominating.nominated_node if decision.nominating else None,
        "candidates": [
            {
                "node": candidate.node,
                "victims": list(candidate.victims),
                "pdb_violations": candidate.pdb_violations,
                "figures": dict(zip(CRITERIA, candidate.figures, strict=False)),
            }
            for candidate in (found.candidates if found else ())
        ],
        "ties": list(found.ties) if found else [],
        "decided_by": found.decided_by if found else "",
        "offset": found.offset if found else 0,
    }


def extender_calls(decision: Decision) -> list[Body]:
    """What extenders were asked, in order."""
    return [asdict(call) for call in decision.extender_calls]


def permit_wait(decision: Decision) -> Body | None:
    """How long Permit plugins held the pod; None if none asked to wait."""
    wait = decision.permit_wait
    if wait is None:
        return None
    return {
        "timeouts": dict(wait.timeouts),
        "seconds": wait.seconds,
        "rejection": status(wait.outcome),
    }


def status(refusal: Status | None) -> Body | None:
    """A status; None for none and for success."""
    if refusal is None or refusal.is_success:
        return None
    return _told(refusal)


def _told(refusal: Status) -> Body:
    return {
        "plugin": refusal.plugin,
        "code": refusal.code.label,
        "reasons": list(refusal.reasons),
    }

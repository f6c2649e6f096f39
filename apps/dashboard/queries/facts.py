"""The facts that a decision depended on, and the pod and a node as it saw them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.engine import queries
from apps.engine.ledger.reading import read
from apps.engine.ledger.records import DecisionRecord
from apps.engine.models import SchedulingDecision
from apps.studies.explanations.states import GAPS, describe_gap, states
from apps.studies.lab.facts import FoundFacts, find_facts

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FactsPage:
    row: SchedulingDecision
    record: DecisionRecord
    #: why the state cannot be rebuilt; empty if it can
    problem: str
    #: what the form starts with: the pod, the name of a node, and the node
    initial: Document = field(default_factory=dict)
    #: None if they were not searched for
    facts: FoundFacts | None = None


def facts_page(
    cluster: Cluster, number: int, node: str = "", *, with_facts: bool = False
) -> FactsPage:
    """What the form starts with and, `with_facts`, the facts, whose search takes up to a second.

    `node` is the one in the form, by default the selected or the first one.
    """
    row = queries.decision_numbered(number, cluster)
    record = read(row)
    names = [name for name in record.decision.nodes if name]
    node = node or record.decision.node or (names[0] if names else "")
    try:
        with states.before(row) as state:
            pod = state.pending.get(str(row.pod_uid))
            info = state.scheduler.cache.nodes.get(node)
            initial = {
                "pod": _pod(msgspec.to_builtins(pod)) if pod is not None else {},
                "node": node,
                "changes": _node(msgspec.to_builtins(info.node)) if info and info.node else {},
            }
        facts = find_facts(row, record) if with_facts else None
        return FactsPage(row, record, "", initial, facts)
    except BadRequest as error:
        return FactsPage(row, record, error.message.removeprefix("facts: "))
    except GAPS as failure:
        return FactsPage(row, record, describe_gap(failure))


def _pod(document: Document) -> Document:
    labels = document["metadata"].get("labels", {})
    return {"metadata": {"labels": labels}, "spec": document.get("spec", {})}


def _node(document: Document) -> Document:
    spec, status = document.get("spec", {}), document.get("status", {})
    return {
        "metadata": {"labels": document["metadata"].get("labels", {})},
        "spec": {
            "taints": spec.get("taints", []),
            "unschedulable": spec.get("unschedulable", False),
        },
        "status": {"allocatable": status.get("allocatable", {})},
    }

"""Whether the cluster of a student is as the checks of an exercise want it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.engine.results.refusals import group_refusals
from apps.studies.classes.exercises import Check, Skew, Why

Body = Mapping[str, Any]


@dataclass(slots=True)
class State:
    """What checks read of a cluster."""

    #: the labels of each node
    nodes: dict[str, Mapping[str, str]] = field(default_factory=dict)
    #: the objects of the nodes that a check names
    named_nodes: dict[str, Body] = field(default_factory=dict)
    #: the pods of the namespace default that are not being deleted
    pods: list[Body] = field(default_factory=list)
    #: what the student has answered
    answers: Mapping[str, str] = field(default_factory=dict)
    #: the first decision of a pod with a result
    decisions: dict[tuple[str, str], SchedulingDecision] = field(default_factory=dict)


def find_missing(state: State, check: Check) -> str:
    """What is missing for a check; "" if it is met."""
    pods = [each for each in state.pods if _selects(check, each)]
    bound = [each for each in pods if each["spec"].get("nodeName")]
    if check.bound is not None and len(bound) != check.bound:
        return f"{len(bound)} of {check.bound} pods have a node"
    if check.nodes is not None and (missing := _elsewhere(state, bound, check.nodes)):
        return missing
    if check.skew is not None and (missing := _skewed(state, bound, check.skew)):
        return missing
    if check.has is not None:
        if not pods:
            return "there is no such pod"
        for each in pods:
            if not contains(each, check.has):
                return f"{each['metadata']['name']} is not as asked for"
    if check.node is not None:
        if check.node not in state.named_nodes:
            return f"there is no node {check.node}"
        if not contains(state.named_nodes[check.node], check.fields):
            return f"{check.node} is not as asked for"
    if check.emptied is not None:
        for each in state.pods:
            if each["spec"].get("nodeName") == check.emptied:
                return f"{each['metadata']['name']} is still on {check.emptied}"
    return _unanswered(state, check.why) if check.why is not None else ""


def contains(actual: Any, wanted: Any) -> bool:
    """Whether an object has all that is wanted; of a list, one item for each."""
    if isinstance(wanted, Mapping):
        return isinstance(actual, Mapping) and all(
            contains(actual.get(name), value) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(actual, list) and all(
            any(contains(item, value) for item in actual) for value in wanted
        )
    return bool(actual == wanted)


def _selects(check: Check, pod: Body) -> bool:
    metadata = pod["metadata"]
    named = check.pod is None or check.pod == metadata["name"]
    return named and check.labels.items() <= (metadata.get("labels") or {}).items()


def _elsewhere(state: State, bound: Sequence[Body], labels: Mapping[str, str]) -> str:
    for each in bound:
        node = each["spec"]["nodeName"]
        if not labels.items() <= state.nodes.get(node, {}).items():
            return f"{each['metadata']['name']} is on {node}"
    return "" if bound else "no pod has a node"


def _skewed(state: State, bound: Sequence[Body], skew: Skew) -> str:
    domains = Counter({labels.get(skew.topology_key, ""): 0 for labels in state.nodes.values()})
    for each in bound:
        labels = state.nodes.get(each["spec"]["nodeName"], {})
        domains[labels.get(skew.topology_key, "")] += 1
    if not bound:
        return "no pod has a node"
    difference = max(domains.values()) - min(domains.values())
    return f"the skew is {difference}" if difference > skew.at_most else ""


def _unanswered(state: State, why: Why) -> str:
    given = state.answers.get(why.answer, "").strip()
    if not given:
        return f"no answer: kubectl create configmap answers --from-literal={why.answer}=…"
    first = state.decisions.get((why.pod, why.result))
    if first is None:
        return f"the ledger has no such decision about {why.pod}"
    return "" if given == _answer_of(first, why) else f"{given} is not what the ledger says"


def _answer_of(row: SchedulingDecision, why: Why) -> str:
    match why.field:
        case "plugin":
            return row.unschedulable_plugins[0] if row.unschedulable_plugins else ""
        case "node":
            return row.node
    refusals = group_refusals(read(row).decision)
    return str(sum(each.count for each in refusals if each.plugin == why.plugin))

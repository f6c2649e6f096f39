"""Why no node took a pod, as one dominant reason in plain words with figures.

Read from the ledger: the refusals of the last attempt by node. Amounts are compared with the
nodes' allocatable resources as they are now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from django.db.models import BigIntegerField, Max
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from apps.cluster.models import Cluster, Node, Pod
from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.engine.results.refusals import FILTER, RefusalGroup, group_refusals
from apps.scheduler.decision import Decision
from apps.scheduler.plugins.helper.resource_text import amount

#: The reasons besides the dominant one that are named.
MAX_OTHERS: Final = 2
_INSUFFICIENT: Final = "Insufficient "
#: reason of a plugin -> what the nodes do, in the plural
_WORDS: Final = {
    "Too many pods": "have no room for another pod",
    "node(s) had untolerated taint(s)": "have taints that it does not tolerate",
    "node(s) were unschedulable": "are cordoned",
    "node(s) didn't match Pod's node affinity/selector": (
        "do not match its node selector or required node affinity"
    ),
    "node(s) didn't match the requested node name": "are not the node that it names",
    "node(s) didn't have free ports for the requested pod ports": "have its host ports in use",
    "node(s) didn't match pod topology spread constraints": (
        "would violate its topology spread constraints"
    ),
    "node(s) didn't match pod topology spread constraints (missing required label)": (
        "lack the label of its topology spread constraints"
    ),
    "node(s) didn't match pod affinity rules": "do not satisfy its pod affinity",
    "node(s) didn't match pod anti-affinity rules": "run pods that its anti-affinity excludes",
    "node(s) didn't satisfy existing pods anti-affinity rules": (
        "run pods whose anti-affinity excludes it"
    ),
    "cannot allocate all claims": "do not have the devices that its claims request",
    "resourceclaim not available on the node": (
        "do not reach the devices that are allocated to its claim"
    ),
    "invalid resource pools were encountered": "have pools of devices that contradict themselves",
    "node(s) exceed max volume count": "have the maximum number of volumes attached",
}
#: "do not match" of all nodes is "none of the nodes matches"
_POSITIVE: Final = {
    "match": "matches",
    "satisfy": "satisfies",
    "have": "has",
    "reach": "reaches",
}
_SINGULAR: Final = {"have": "has", "do": "does", "are": "is", "run": "runs", "lack": "lacks"}


def find_dominant_reason(cluster: Cluster, pod: Pod, row: SchedulingDecision) -> str:
    """The sentences of `describe_dominant_reason` for the last attempt of a pod."""
    return describe_dominant_reason(
        read(row).decision,
        pod.requests,
        nodes=row.nodes,
        largest=lambda resource: _find_largest(cluster, resource),
    )


def describe_dominant_reason(
    decision: Decision,
    requests: Mapping[str, int],
    *,
    nodes: int,
    largest: Callable[[str], int],
) -> str:
    """One or two sentences; empty if no plugin rejected single nodes.

    The reason that rejected most nodes comes first. `nodes`: how many the cluster has; `largest`:
    the greatest allocatable amount of a resource.
    """
    return describe_refusals(group_refusals(decision), requests, nodes=nodes, largest=largest)


def describe_refusals(
    refusals: Sequence[RefusalGroup],
    requests: Mapping[str, int],
    *,
    nodes: int,
    largest: Callable[[str], int],
) -> str:
    """The same for groups of rejected nodes."""
    groups = [group for group in refusals if group.extension_point == FILTER]
    counts: Counter[str] = Counter()
    for group in groups:
        counts.update(dict.fromkeys(group.reasons, group.count))
    if not counts:
        return ""
    (dominant, rejected), *others = counts.most_common(1 + MAX_OTHERS)
    first = _describe(requests, largest, dominant, rejected, nodes)
    too = ", too" if dominant.startswith(_INSUFFICIENT) else ""
    return " ".join([first, *_describe_others(others, too)])


def _describe(
    requests: Mapping[str, int], largest: Callable[[str], int], reason: str, nodes: int, total: int
) -> str:
    """The dominant reason as a sentence."""
    which = f"{nodes:,} of {total:,} nodes"
    if nodes == total:
        which = f"all {total:,} nodes" if total > 1 else "the only node"
    if reason.startswith(_INSUFFICIENT):
        resource = reason.removeprefix(_INSUFFICIENT)
        needed = int(requests.get(resource, 0))
        return _describe_shortage(resource, needed, largest(resource), which, nodes, total)
    words = _WORDS.get(reason, "")
    verb, _, rest = words.removeprefix("do not ").partition(" ")
    if nodes == total > 1 and words.startswith("do not ") and verb in _POSITIVE:
        return f"None of the {total:,} nodes {_POSITIVE[verb]} {rest}."
    return f"{_capitalize(which)}{_say(reason, nodes)}."


def _find_largest(cluster: Cluster, resource: str) -> int:
    key = Cast(KeyTextTransform(resource, "allocatable"), BigIntegerField())
    aggregate = Node.objects.filter(cluster=cluster).aggregate(largest=Max(key))
    return aggregate["largest"] or 0


def _describe_shortage(
    resource: str, needed: int, largest: int, which: str, nodes: int, total: int
) -> str:
    request = f"It needs {amount(resource, needed)} {resource}"
    if needed > largest:
        return f"{request}; the largest node has {amount(resource, largest)}."
    if nodes == total > 1:
        return f"{request}, which none of the {total:,} nodes has free."
    return f"{request}, which {which} {'does' if nodes == 1 else 'do'} not have free."


def _describe_others(others: list[tuple[str, int]], too: str) -> Iterator[str]:
    for reason, nodes in others:
        which = "1 node" if nodes == 1 else f"{nodes:,} nodes"
        if reason.startswith(_INSUFFICIENT):
            lack = "lacks" if nodes == 1 else "lack"
            yield f"{which} {lack} {reason.removeprefix(_INSUFFICIENT)}{too}."
        else:
            yield f"{which}{_say(reason, nodes)}."


def _say(reason: str, nodes: int) -> str:
    """What so many nodes do, after the words for them."""
    words = _WORDS.get(reason)
    if words is None:
        return f": {reason}"
    verb, _, rest = words.partition(" ")
    return f" {_SINGULAR.get(verb, verb) if nodes == 1 else verb} {rest}"


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]

"""What a node is or is not: its name, labels and taints, cordoned, out of reach of volumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from apps.scheduler.explaining.sight import Detail, Spot
from apps.scheduler.framework.status import Status
from apps.scheduler.labels.selectors import SelectorError, node_selector_term_matches
from apps.scheduler.objects import Node, NodeSelectorRequirement, NodeSelectorTerm, Taint
from apps.scheduler.plugins.helper.node_selection import required_node_affinity
from apps.scheduler.plugins.helper.taints import NO_EXECUTE, NO_SCHEDULE, tolerated
from apps.scheduler.plugins.volumebinding.topology import node_affinity


def taint_text(taint: Taint) -> str:
    """As kubectl writes it: "dedicated=gpu:NoSchedule"."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def taints_not_tolerated(spot: Spot, status: Status) -> Iterator[Detail]:
    for taint in _node(spot).spec.taints:
        if taint.effect not in (NO_SCHEDULE, NO_EXECUTE):
            continue
        if not tolerated(spot.sight.pod.pod.spec.tolerations, taint):
            text = taint_text(taint)
            yield Detail(f"the pod does not tolerate the taint {text}", {"taint": text})


def cordoned(spot: Spot, status: Status) -> Iterator[Detail]:
    yield Detail("the node is cordoned", {"unschedulable": True})


def another_name(spot: Spot, status: Status) -> Iterator[Detail]:
    wanted = spot.sight.pod.pod.spec.node_name
    yield Detail(f"the pod asks for node {wanted}", {"wanted": wanted})


def labels_missing(spot: Spot, status: Status) -> Iterator[Detail]:
    """Each entry of the node selector, and of each required term, that the node does not meet."""
    pod, node = spot.sight.pod, _node(spot)
    labels = node.metadata.labels
    for key, value in pod.pod.spec.node_selector.items():
        if labels.get(key) != value:
            yield Detail(
                f"the node selector wants {key}={value}: the node has {label_text(labels, key)}",
                {"key": key, "wanted": [value], "has": labels.get(key)},
            )
    required = required_node_affinity(pod)
    if required is None:
        return
    unmet = [list(_unmet(term, node)) for term in required.node_selector_terms]
    if all(unmet):
        for number, details in enumerate(unmet, 1):
            for detail in details:
                place = f"required node affinity, term {number}"
                yield Detail(f"{place}: {detail.sentence}", {"term": number, **detail.figures})


def volumes_out_of_reach(spot: Spot, status: Status) -> Iterator[Detail]:
    """The pod's claims whose volumes cannot be used on this node."""
    listers, node = spot.sight.framework.handle.listers, _node(spot)
    for name in spot.sight.pod.claim_names:
        claim = listers.assumed_claims.get(name, spot.sight.pod.namespace)
        volume = listers.assumed_volumes.get(claim.spec.volume_name) if claim is not None else None
        selector = node_affinity(volume) if volume is not None else None
        if volume is None or selector is None:
            continue
        unmet = [list(_unmet(term, node)) for term in selector.node_selector_terms]
        if all(unmet):
            said = unmet[0][0].sentence if unmet else "no node will do"
            yield Detail(
                f"claim {name} is bound to volume {volume.metadata.name}, which {said}",
                {"claim": name, "volume": volume.metadata.name},
            )


def label_text(labels: Mapping[str, str], key: str) -> str:
    return f"{key}={labels[key]}" if key in labels else f"no label {key}"


def _unmet(term: NodeSelectorTerm, node: Node) -> Iterator[Detail]:
    """What a node lacks of a term; nothing if the term matches."""
    labels, name = node.metadata.labels, node.metadata.name
    for each in term.match_expressions:
        if not _holds(
            msgspec.structs.replace(term, match_expressions=(each,), match_fields=()), node
        ):
            yield Detail(
                f"wants {requirement_text(each)}: the node has {label_text(labels, each.key)}",
                {
                    "key": each.key,
                    "operator": each.operator,
                    "wanted": list(each.values),
                    "has": labels.get(each.key),
                },
            )
    for each in term.match_fields:
        if not _holds(
            msgspec.structs.replace(term, match_expressions=(), match_fields=(each,)), node
        ):
            yield Detail(
                f"wants {requirement_text(each)}: the node is {name}",
                {
                    "key": each.key,
                    "operator": each.operator,
                    "wanted": list(each.values),
                    "has": name,
                },
            )


def requirement_text(requirement: NodeSelectorRequirement) -> str:
    """ "disk In (ssd, nvme)"."""
    values = f" ({', '.join(requirement.values)})" if requirement.values else ""
    return f"{requirement.key} {requirement.operator}{values}"


def _holds(term: NodeSelectorTerm, node: Node) -> bool:
    try:
        return node_selector_term_matches(term, node.metadata.labels, node.metadata.name)
    except SelectorError:
        return False


def _node(spot: Spot) -> Node:
    assert spot.info.node is not None
    return spot.info.node

"""Labels, taints and selectors of nodes, and taints of devices, as text for explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from apps.scheduler.framework.explanation import Detail
from apps.scheduler.labels.selectors import SelectorError, node_selector_term_matches
from apps.scheduler.objects import (
    DeviceTaint,
    Node,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Taint,
)

#: the most names listed in a sentence
_LISTED = 3


def list_names(names: Sequence[str], limit: int = _LISTED) -> str:
    """ "a, b, c and 4 more"."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def taint_text(taint: Taint | DeviceTaint) -> str:
    """As kubectl writes it: "dedicated=gpu:NoSchedule"."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def label_text(labels: Mapping[str, str], key: str) -> str:
    return f"{key}={labels[key]}" if key in labels else f"no label {key}"


def requirement_text(requirement: NodeSelectorRequirement) -> str:
    """ "disk In (ssd, nvme)"."""
    values = f" ({', '.join(requirement.values)})" if requirement.values else ""
    return f"{requirement.key} {requirement.operator}{values}"


def unmet_requirements(term: NodeSelectorTerm, node: Node) -> Iterator[Detail]:
    """The requirements of a term that a node does not meet; none if the term matches."""
    labels, name = node.metadata.labels, node.metadata.name
    for each in term.match_expressions:
        if not _holds(
            msgspec.structs.replace(term, match_expressions=(each,), match_fields=()), node
        ):
            yield Detail(
                f"requires {requirement_text(each)}: the node has {label_text(labels, each.key)}",
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
                f"requires {requirement_text(each)}: the node is {name}",
                {
                    "key": each.key,
                    "operator": each.operator,
                    "wanted": list(each.values),
                    "has": name,
                },
            )


def _holds(term: NodeSelectorTerm, node: Node) -> bool:
    try:
        return node_selector_term_matches(term, node.metadata.labels, node.metadata.name)
    except SelectorError:
        return False

"""The rules of a pod about node labels that a node does not meet."""

from __future__ import annotations

from collections.abc import Iterator

from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Node
from apps.scheduler.plugins.helper.node_selection import required_node_affinity
from apps.scheduler.plugins.helper.node_text import label_text, unmet_requirements


def unmet_rules(pod: PodInfo, node: Node) -> Iterator[Detail]:
    """Each entry of the node selector, and of each required term, that the node does not meet."""
    labels = node.metadata.labels
    for key, value in pod.pod.spec.node_selector.items():
        if labels.get(key) != value:
            yield Detail(
                f"the node selector requires {key}={value}: the node has {label_text(labels, key)}",
                {"key": key, "wanted": [value], "has": labels.get(key)},
            )
    required = required_node_affinity(pod)
    if required is None:
        return
    unmet = [list(unmet_requirements(term, node)) for term in required.node_selector_terms]
    if all(unmet):
        for number, details in enumerate(unmet, 1):
            for detail in details:
                place = f"required node affinity, term {number}"
                yield Detail(f"{place}: {detail.sentence}", {"term": number, **detail.figures})

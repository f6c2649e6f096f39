"""Which volumes of a pod cannot be used on a node."""

from __future__ import annotations

from collections.abc import Iterator

from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Node
from apps.scheduler.plugins.helper.node_text import unmet_requirements
from apps.scheduler.plugins.volumebinding.topology import node_affinity


def volumes_out_of_reach(pod: PodInfo, node: Node, listers: Listers) -> Iterator[Detail]:
    """The pod's claims whose volumes cannot be used on this node."""
    for name in pod.claim_names:
        claim = listers.assumed_claims.get(name, pod.namespace)
        volume = listers.assumed_volumes.get(claim.spec.volume_name) if claim is not None else None
        selector = node_affinity(volume) if volume is not None else None
        if volume is None or selector is None:
            continue
        unmet = [list(unmet_requirements(term, node)) for term in selector.node_selector_terms]
        if all(unmet):
            said = unmet[0][0].sentence if unmet else "matches no node"
            yield Detail(
                f"claim {name} is bound to volume {volume.metadata.name}, which {said}",
                {"claim": name, "volume": volume.metadata.name},
            )

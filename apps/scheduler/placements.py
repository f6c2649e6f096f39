"""Placements of a pod group: the sets of nodes among which all of its pods have to be.

With the feature gate TopologyAwareWorkloadScheduling, a group with a topology constraint is tried
in one domain after the other: the nodes with one value of the label. Those in which it fits are
scored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.scheduler.cache.cache import Cache
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.resources import CPU, MEMORY, is_scalar
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.framework.status import Status, error
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.group_attempt import PlacementScore
from apps.scheduler.objects import Pod, PodGroup
from apps.scheduler.plugins.noderesources.args import NodeResourcesFitArgs
from apps.scheduler.plugins.noderesources.fit import NAME as FIT

GATE: Final = "TopologyAwareWorkloadScheduling"
GENERATOR: Final = "TopologyPlacementGenerator"
PODS_COUNT: Final = "PodGroupPodsCount"
# the texts are upstream's, to the letter
_NO_DOMAIN: Final = "cannot determine domain for already scheduled pods"


@dataclass(frozen=True, slots=True)
class Placement:
    """The nodes of one domain; the name is the value of the label, "" for all nodes."""

    name: str
    nodes: frozenset[str]


def generate_placements(cache: Cache, member: Pod) -> list[Placement] | Status:
    """The placements for the group of ``member``, by name; an error if there is no such group.

    Without a constraint there is one placement with all nodes. Pods of the group that have a node
    already determine the domain; it is an error if they are in several, or in none.
    """
    name = member.group_name
    group = group_of(cache, member)
    if group is None:
        return _failed(f'podgroup.scheduling.k8s.io "{name}" not found')
    nodes = [info.node for info in cache.nodes.values() if info.node is not None]
    labels = {node.metadata.name: node.metadata.labels for node in nodes}
    key = group.topology_key
    if not key:
        return [Placement("", frozenset(labels))]
    placed = [
        (state.pod, state.node_name)
        for uid in cache.pod_groups.of(member).placed
        if (state := cache.pods.get(uid)) is not None
    ]
    domain = _domain_of(placed, labels, key)
    if isinstance(domain, Status):
        return domain
    domains: dict[str, set[str]] = {}
    for node, of_node in labels.items():
        value = of_node.get(key)
        if value is not None and domain in (None, value):
            domains.setdefault(value, set()).add(node)
    return [Placement(value, frozenset(nodes)) for value, nodes in sorted(domains.items())]


def _domain_of(
    placed: Iterable[tuple[PodInfo, str]], labels: Mapping[str, Mapping[str, str]], key: str
) -> str | None | Status:
    """The domain of the pods that have a node; None if there are no such pods."""
    domain: str | None = None
    for pod, node in sorted(placed, key=lambda each: each[0].name):
        value = labels.get(node, {}).get(key)
        if value is None:
            return _failed(f"{_NO_DOMAIN}: no topology domain found for pod {pod.key}")
        if domain is not None and domain != value:
            two = f"{domain}, {value}"
            return _failed(f"{_NO_DOMAIN}: more than 1 domain found for pod group: {two}")
        domain = value
    return domain


def _failed(reason: str) -> Status:
    return error(f'running PlacementGenerate plugin "{GENERATOR}": {reason}')


def score_placements(
    cache: Cache,
    framework: Framework,
    placements: Sequence[Placement],
    proposed: Sequence[Sequence[PodInfo]],
    placed: int,
) -> list[tuple[PlacementScore, ...]]:
    """The scores of placements in which the group fits, of the profile's plugins.

    ``proposed``: for each placement, the members that have a node there; ``placed``: how many pods
    of the group have a node already.
    """
    counts = [placed + len(pods) for pods in proposed]
    most = max(counts)
    by_count = [PlacementScore(PODS_COUNT, count * MAX_NODE_SCORE // most, 1) for count in counts]
    weight = framework.profile.score_weights.get(FIT, 0)
    if not weight:
        return [(score,) for score in by_count]
    args = framework.profile.args.get(FIT)
    fit_args = args if isinstance(args, NodeResourcesFitArgs) else NodeResourcesFitArgs()
    return [
        (PlacementScore(FIT, _used_share(cache, fit_args, placement, pods), weight), score)
        for placement, pods, score in zip(placements, proposed, by_count, strict=True)
    ]


def _used_share(
    cache: Cache, args: NodeResourcesFitArgs, placement: Placement, pods: Sequence[PodInfo]
) -> int:
    """MostAllocated over all nodes of the placement together: the weighted mean of used shares.

    The resources and weights are those of the plugin's scoring strategy, whatever its type. A
    resource that the placement does not have, or extended ones that no pod wants, do not count.
    """
    total = weights = 0
    for resource in args.scoring_strategy.resources:
        wanted = sum(pod.fit_scoring_requests.get(resource.name, 0) for pod in pods)
        infos = [cache.nodes[name] for name in placement.nodes]
        capacity = sum(info.allocatable.get(resource.name, 0) for info in infos)
        if not capacity or (not wanted and is_scalar(resource.name)):
            continue
        used = wanted + sum(_requested(info, resource.name) for info in infos)
        total += resource.weight * (min(used, capacity) * MAX_NODE_SCORE // capacity)
        weights += resource.weight
    return total // weights if weights else 0


def _requested(info: NodeInfo, resource: str) -> int:
    """How much the pods on the node request.

    Containers without a request count with their defaults.
    """
    if resource == CPU:
        return info.nonzero_cpu
    if resource == MEMORY:
        return info.nonzero_memory
    return info.requested.get(resource, 0)


def group_of(cache: Cache, member: Pod) -> PodGroup | None:
    """The PodGroup of the pod, if it exists."""
    return cache.listers.pod_groups.get(member.group_name, member.metadata.namespace)

"""DaemonSets: one pod on each node that its template may run on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from apps.controlplane.controllers.controller import Controller, Step
from apps.controlplane.controllers.kubelet.admission import selects
from apps.controlplane.controllers.workloads.ownership import of_object, of_pods, own_pods
from apps.controlplane.controllers.workloads.templates import (
    REVISION_LABEL,
    new_pod,
    template_hash,
)
from apps.controlplane.controllers.world import Ref, World, ref_of
from apps.controlplane.controllers.writes import delete_pod, is_active, is_ready, set_status
from apps.scheduler.objects import KubeObject, Node, Pod, decode
from apps.scheduler.plugins.helper.taints import has_untolerated, tolerated

Body = dict[str, Any]
KIND: Final = "DaemonSet"
NAME_FIELD: Final = "metadata.name"

_NODE: Final = "node.kubernetes.io/"
#: What the pods of a DaemonSet tolerate without being asked.
_TOLERATIONS: Final = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)


def of_node(world: World, old: Node | None, new: Node | None) -> Iterable[Ref]:
    if old is not None and new is not None and _placement(old) == _placement(new):
        return []
    return [ref_of(KIND, each) for each in world.every(KIND, KubeObject)]


def reconcile(world: World, ref: Ref, now: datetime) -> Iterator[Step]:
    daemons = world.body(ref)
    if daemons is None:
        return
    digest = template_hash(daemons["spec"]["template"])
    sample = _sample(daemons)
    by_node: dict[str, list[Pod]] = {}
    for pod in own_pods(world, daemons):
        by_node.setdefault(_node_of(pod), []).append(pod)
    nodes = world.every("Node", Node)
    wanted = {node.metadata.name for node in nodes if _should_run(sample, node)}
    tolerable = {node.metadata.name for node in nodes if _may_stay(sample, node)}
    if not daemons["metadata"].get("deletionTimestamp"):
        for node in sorted(wanted - by_node.keys()):
            yield _daemon(daemons, node, digest)
        yield from _clean(by_node, tolerable)
        yield from _replace(daemons, by_node, digest)
    yield from _report(ref, daemons, by_node, wanted, digest)


def _placement(node: Node) -> tuple[Any, ...]:
    taints = [(taint.key, taint.value, taint.effect) for taint in node.spec.taints]
    return node.metadata.labels, taints, node.metadata.uid


def _clean(by_node: dict[str, list[Pod]], tolerable: set[str]) -> Iterator[Step]:
    """Take away the pods of nodes they may not be on, second ones, and finished ones."""
    for node, pods in by_node.items():
        active = [pod for pod in pods if is_active(pod)]
        kept = active[:1] if node in tolerable else []
        for pod in pods:
            if pod not in kept and not pod.metadata.deletion_timestamp:
                yield delete_pod(pod)


def _replace(daemons: Body, by_node: dict[str, list[Pod]], digest: str) -> Iterator[Step]:
    """Delete pods of an older template, as many at a time as may be missing."""
    strategy = daemons["spec"].get("updateStrategy") or {}
    if strategy.get("type") != "RollingUpdate":
        return
    limit = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1)
    if isinstance(limit, str):
        limit = -(-int(limit.rstrip("%")) * len(by_node) // 100)
    pods = [pod for group in by_node.values() for pod in group]
    away = sum(not is_ready(pod) or not is_active(pod) for pod in pods)
    old = [pod for pod in pods if is_active(pod) and _revision(pod) != digest]
    for pod in old[: max(limit - away, 0)]:
        yield delete_pod(pod)


def _daemon(daemons: Body, node: str, digest: str) -> Step:
    """A pod that the scheduler can put on this node only."""
    spec = daemons["spec"]["template"]["spec"]
    return new_pod(
        daemons,
        labels={REVISION_LABEL: digest},
        spec={"affinity": _pinned(spec, node), "tolerations": _tolerations(spec)},
    )


def _pinned(spec: Body, node: str) -> Body:
    """The template's affinity, with the node's name in the place of its required terms."""
    affinity = dict(spec.get("affinity") or {})
    named = {"key": NAME_FIELD, "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [named]}]}
    affinity["nodeAffinity"] = {
        **(affinity.get("nodeAffinity") or {}),
        "requiredDuringSchedulingIgnoredDuringExecution": required,
    }
    return affinity


def _tolerations(spec: Body) -> list[Body]:
    wanted = [*_TOLERATIONS]
    if spec.get("hostNetwork"):
        wanted.append(("network-unavailable", "NoSchedule"))
    given = spec.get("tolerations") or []
    return given + [
        {"key": f"{_NODE}{key}", "operator": "Exists", "effect": effect} for key, effect in wanted
    ]


def _sample(daemons: Body) -> Pod:
    """A pod of the template, to ask where it may run."""
    spec = daemons["spec"]["template"]["spec"]
    sample: Pod = decode("Pod", {"spec": {**spec, "tolerations": _tolerations(spec)}})
    return sample


def _should_run(pod: Pod, node: Node) -> bool:
    fits = not pod.spec.node_name or pod.spec.node_name == node.metadata.name
    return (
        fits and selects(pod, node) and not has_untolerated(node.spec.taints, pod.spec.tolerations)
    )


def _may_stay(pod: Pod, node: Node) -> bool:
    """Taints that only keep new pods away do not matter to one that is there."""
    evicting = [taint for taint in node.spec.taints if taint.effect == "NoExecute"]
    return selects(pod, node) and all(tolerated(pod.spec.tolerations, each) for each in evicting)


def _node_of(pod: Pod) -> str:
    """The node a pod is on, or is meant for."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    for term in required.node_selector_terms if required else ():
        for field in term.match_fields:
            if field.key == NAME_FIELD and field.values:
                return field.values[0]
    return ""


def _revision(pod: Pod) -> str:
    return pod.metadata.labels.get(REVISION_LABEL, "")


def _report(
    ref: Ref, daemons: Body, by_node: dict[str, list[Pod]], wanted: set[str], digest: str
) -> Iterator[Step]:
    running = [pod for node in wanted for pod in by_node.get(node, ())[:1]]
    ready = sum(map(is_ready, running))
    status = {
        "observedGeneration": daemons["metadata"].get("generation"),
        "currentNumberScheduled": len(running),
        "desiredNumberScheduled": len(wanted),
        "numberMisscheduled": len(by_node.keys() - wanted - {""}),
        "numberReady": ready,
        "numberAvailable": ready or None,
        "numberUnavailable": len(wanted) - ready or None,
        "updatedNumberScheduled": sum(_revision(pod) == digest for pod in running) or None,
    }
    yield set_status(ref, daemons["metadata"]["uid"], status)


CONTROLLER = Controller(
    name="daemon sets",
    user="daemon-set-controller",
    concerns={KIND: of_object(KIND), "Node": of_node, "Pod": of_pods(KIND)},
    reconcile=reconcile,
)

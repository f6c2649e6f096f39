"""DaemonSets: one pod on each node that its template may run on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from datetime import datetime
from typing import Any, Final

from apps.cluster.writes import Create
from apps.controllers.cache import ControllerCache, Ref, ref_of
from apps.controllers.controller import Controller, Step
from apps.controllers.events.writer import PendingEvent
from apps.controllers.kubelet.admission import selects
from apps.controllers.workloads import daemon_rollout as rollout
from apps.controllers.workloads.ownership import claim_pods, map_object, map_pods, own_pods
from apps.controllers.workloads.revisions import current_key, keep_history, map_revisions
from apps.controllers.workloads.templates import REVISION_LABEL, new_pod
from apps.controllers.writes import (
    BURST,
    availability,
    create_with_event,
    delete_with_event,
    is_active,
    is_ready,
    object_reference,
    set_status,
)
from apps.scheduler.objects import KubeObject, Node, Pod, decode
from apps.scheduler.plugins.helper.taints import has_untolerated, is_tolerated

Body = dict[str, Any]
KIND: Final = "DaemonSet"
#: The reporting component in events.
USER: Final = "daemonset-controller"
NAME_FIELD: Final = "metadata.name"

_NODE: Final = "node.kubernetes.io/"
#: Tolerations that all pods of DaemonSets get.
_TOLERATIONS: Final = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)


def refs_for_node(cache: ControllerCache, old: Node | None, new: Node | None) -> Iterable[Ref]:
    # as upstream, which learns of a deleted node by the deletion of its pods
    if new is None or (old is not None and _placement(old) == _placement(new)):
        return []
    pods = cache.pods_on(new.metadata.name)
    running = {owner.uid for pod in pods if (owner := pod.metadata.controller) is not None}
    return [
        ref_of(KIND, each)
        for each in cache.list_all(KIND, KubeObject)
        if _is_concerned(cache.body(ref_of(KIND, each)), new, each.metadata.uid in running)
    ]


def _is_concerned(daemons: Body | None, node: Node, runs: bool) -> bool:
    """Whether a pod is missing on the node, or may not stay there; the rest changes no pod."""
    if daemons is None:
        return False
    sample = _sample_pod(daemons)
    return not _may_stay(sample, node) if runs else _should_run(sample, node)


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    daemons = cache.body(ref)
    if daemons is None:
        return
    if not daemons["metadata"].get("deletionTimestamp"):
        claimed = list(claim_pods(cache, daemons))
        if claimed:
            # they count once the change is observed
            yield from claimed
            return
    digest = current_key(cache, daemons)
    sample = _sample_pod(daemons)
    by_node: dict[str, list[Pod]] = {}
    for pod in own_pods(cache, daemons):
        by_node.setdefault(_node_of(pod), []).append(pod)
    nodes = cache.list_all("Node", Node)
    wanted = {node.metadata.name for node in nodes if _should_run(sample, node)}
    tolerable = {node.metadata.name: _may_stay(sample, node) for node in nodes}
    pods = [pod for group in by_node.values() for pod in group if is_active(pod)]
    available, later = availability(pods, daemons, now)
    if not daemons["metadata"].get("deletionTimestamp"):
        yield from keep_history(cache, daemons, digest, {rollout.revision(pod) for pod in pods})
        for plan in rollout.plan(daemons, by_node, wanted, tolerable, available, digest):
            for node in plan.missing[:BURST]:
                yield create_with_event(daemons, _create_daemon(daemons, node, digest), USER)
            for pod in plan.surplus[:BURST]:
                yield from _found(daemons, pod)
                yield delete_with_event(daemons, pod, USER)
    yield from later
    yield from _report(ref, daemons, by_node, tolerable.keys(), wanted, digest, now)


def _found(daemons: Body, pod: Pod) -> Iterator[Step]:
    """The event about a pod that has ended and is replaced."""
    phase, where = pod.status.phase, f"{pod.key} on node {pod.spec.node_name}"
    if phase == "Failed":
        note = f"Found failed daemon pod {where}, will try to kill it"
        yield PendingEvent(object_reference(daemons), "FailedDaemonPod", note, USER, warning=True)
    elif phase == "Succeeded":
        note = f"Found succeeded daemon pod {where}, will try to delete it"
        yield PendingEvent(object_reference(daemons), "SucceededDaemonPod", note, USER)


def _placement(node: Node) -> tuple[Any, ...]:
    taints = [(taint.key, taint.value, taint.effect) for taint in node.spec.taints]
    return node.metadata.labels, taints, node.metadata.uid


def _create_daemon(daemons: Body, node: str, digest: str) -> Create:
    """The creation of a pod that can only be scheduled on this node."""
    spec = daemons["spec"]["template"]["spec"]
    return new_pod(
        daemons,
        labels={REVISION_LABEL: digest, **rollout.generation_label(daemons)},
        spec={"affinity": _pin_to_node(spec, node), "tolerations": _tolerations(spec)},
    )


def _pin_to_node(spec: Body, node: str) -> Body:
    """The template's affinity, with the node's name instead of its required terms."""
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


def _sample_pod(daemons: Body) -> Pod:
    """A pod of the template, to test where it may run."""
    spec = daemons["spec"]["template"]["spec"]
    sample: Pod = decode("Pod", {"spec": {**spec, "tolerations": _tolerations(spec)}})
    return sample


def _should_run(pod: Pod, node: Node) -> bool:
    fits = not pod.spec.node_name or pod.spec.node_name == node.metadata.name
    return (
        fits and selects(pod, node) and not has_untolerated(node.spec.taints, pod.spec.tolerations)
    )


def _may_stay(pod: Pod, node: Node) -> bool:
    """Whether a running pod may stay; only NoExecute taints matter."""
    evicting = [taint for taint in node.spec.taints if taint.effect == "NoExecute"]
    return selects(pod, node) and all(is_tolerated(pod.spec.tolerations, each) for each in evicting)


def _node_of(pod: Pod) -> str:
    """The node of a pod, or the node that it targets."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    for term in required.node_selector_terms if required else ():
        for field in term.match_fields:
            if field.key == NAME_FIELD and field.values:
                return field.values[0]
    return ""


def _age(pod: Pod) -> tuple[bool, str, str]:
    created = pod.metadata.creation_timestamp
    return not pod.spec.node_name, str(created), pod.metadata.name


def _report(
    ref: Ref,
    daemons: Body,
    by_node: dict[str, list[Pod]],
    nodes: Set[str],
    wanted: set[str],
    digest: str,
    now: datetime,
) -> Iterator[Step]:
    # the oldest pod of a node counts, also while another takes its place
    running = [min(by_node[node], key=_age) for node in wanted & by_node.keys()]
    serving = len(availability(running, daemons, now)[0])
    status = {
        "observedGeneration": daemons["metadata"].get("generation"),
        "currentNumberScheduled": len(running),
        "desiredNumberScheduled": len(wanted),
        "numberMisscheduled": len((nodes & by_node.keys()) - wanted),
        "numberReady": sum(map(is_ready, running)),
        "numberAvailable": serving or None,
        "numberUnavailable": len(wanted) - serving or None,
        "updatedNumberScheduled": (
            sum(rollout.is_current(daemons, pod, digest) for pod in running) or None
        ),
    }
    yield set_status(ref, daemons["metadata"]["uid"], status)


CONTROLLER = Controller(
    name="daemon sets",
    user="daemon-set-controller",
    concerns={
        KIND: map_object(KIND),
        "Node": refs_for_node,
        "Pod": map_pods(KIND),
        "ControllerRevision": map_revisions(KIND),
    },
    reconcile=reconcile,
)

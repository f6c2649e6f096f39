"""What a simulation changes before it schedules: a request's changes, applied to its base."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from apps.cluster.errors import BadRequest
from apps.scheduler.objects import Node, Pod, PodStatus
from apps.studies.lab.base import Base
from apps.studies.lab.manifests import Manifests

_MIRROR = "kubernetes.io/config.mirror"


class Origin(StrEnum):
    """Why a simulation schedules a pod."""

    #: it is given
    NEW = "new"
    #: it waits in the cluster
    PENDING = "pending"
    #: its controller creates it for a pod that was evicted or deleted
    REPLACEMENT = "replacement"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A pod that the simulation schedules."""

    pod: Pod
    origin: Origin
    #: the node of the pod that it replaces; "" for others
    left: str = ""


@dataclass(frozen=True, slots=True)
class LostPod:
    """A pod that is deleted, and that no controller replaces."""

    namespace: str
    name: str
    node: str
    reason: str


@dataclass(slots=True)
class Changes:
    """The changes of a request; names of objects of its base."""

    manifests: Manifests = field(default_factory=Manifests)
    cordon: Sequence[str] = ()
    uncordon: Sequence[str] = ()
    drain: Sequence[str] = ()
    delete_nodes: Sequence[str] = ()
    #: "namespace/name"
    delete_pods: Sequence[str] = ()


@dataclass(slots=True)
class Changed:
    """What the changes lead to."""

    #: replacements first, then given pods
    arrivals: list[Arrival] = field(default_factory=list)
    lost: list[LostPod] = field(default_factory=list)


def apply_changes(base: Base, changes: Changes) -> Changed:
    """Change a base; the result has the pods that are to be scheduled because of it.

    Objects are applied first, then nodes are cordoned, drained and deleted, then pods deleted.
    BadRequest names the field with an unknown node or pod.
    """
    _check_names(base, changes)
    changed = Changed()
    for kind, item in changes.manifests.others:
        base.objects.append((kind, item))
    for node in changes.manifests.nodes:
        put_node(base, node)
    for name in changes.uncordon:
        put_node(base, with_unschedulable(base.nodes[name], unschedulable=False))
    for name in (*changes.cordon, *changes.drain):
        put_node(base, with_unschedulable(base.nodes[name], unschedulable=True))
    for name in changes.drain:
        _empty_node(base, name, changed, is_deleted=False)
    for name in changes.delete_nodes:
        _empty_node(base, name, changed, is_deleted=True)
        del base.nodes[name]
        base.tree.remove(name)
    for pod in _find_pods(base, changes.delete_pods):
        _delete(base, pod, changed, "is deleted")
    taken = _all_keys(base) | {each.pod.key for each in changed.arrivals}
    for pod in changes.manifests.pods:
        free = _with_free_name(pod, taken)
        taken.add(free.key)
        changed.arrivals.append(Arrival(free, Origin.NEW))
    return changed


def put_node(base: Base, node: Node) -> None:
    """Add a node, or its new version."""
    base.nodes[node.metadata.name] = node
    base.tree.add(node)


def with_unschedulable(node: Node, *, unschedulable: bool) -> Node:
    """The node, cordoned or uncordoned."""
    spec = msgspec.structs.replace(node.spec, unschedulable=unschedulable)
    return msgspec.structs.replace(node, spec=spec)


def new_pod(pod: Pod) -> Pod:
    """The pod that its controller creates for a deleted one: pending, with another uid."""
    metadata = msgspec.structs.replace(
        pod.metadata, uid=str(uuid.uuid4()), deletion_timestamp=None, resource_version=""
    )
    spec = msgspec.structs.replace(pod.spec, node_name="")
    return Pod(metadata=metadata, spec=spec, status=PodStatus(phase="Pending"))


def is_bound_to_node(pod: Pod) -> bool:
    """Whether the pod stays with its node: of a DaemonSet, or static."""
    owner = pod.metadata.controller
    is_of_daemon_set = owner is not None and owner.kind == "DaemonSet"
    return is_of_daemon_set or _MIRROR in pod.metadata.annotations


def _with_free_name(pod: Pod, taken: Container[str]) -> Pod:
    """The pod; one of a workload has another name if a pod of the cluster has its own."""
    number, name = 1, pod.metadata.name
    while pod.key in taken:
        metadata = msgspec.structs.replace(pod.metadata, name=f"{name}-{number}")
        pod = msgspec.structs.replace(pod, metadata=metadata)
        number += 1
    return pod


def _empty_node(base: Base, name: str, changed: Changed, *, is_deleted: bool) -> None:
    """Remove the pods of a node that is drained or deleted; a drain leaves some of them."""
    for info in base.on_node(name):
        if not is_bound_to_node(info.pod):
            _delete(base, info.pod, changed, f"{name} is {'deleted' if is_deleted else 'drained'}")
        elif is_deleted:
            del base.pods[info.uid]


def _delete(base: Base, pod: Pod, changed: Changed, why: str) -> None:
    node = pod.spec.node_name
    base.pods.pop(pod.metadata.uid, None)
    base.pending.pop(pod.metadata.uid, None)
    if pod.metadata.deletion_timestamp is not None:
        return
    if pod.metadata.controller is not None:
        changed.arrivals.append(Arrival(new_pod(pod), Origin.REPLACEMENT, node))
        return
    reason = f"{why}, and no controller replaces the pod"
    changed.lost.append(LostPod(pod.metadata.namespace, pod.metadata.name, node, reason))


def _find_pods(base: Base, keys: Sequence[str]) -> Iterator[Pod]:
    """The pods that are not deleted yet, in the order of the request."""
    if keys:
        known = {info.key: info.pod for info in base.pods.values()}
        known |= {pod.key: pod for pod in base.pending.values()}
        yield from (known[key] for key in dict.fromkeys(keys) if key in known)


def _all_keys(base: Base) -> set[str]:
    """ "namespace/name" of all pods."""
    keys = {info.key for info in base.pods.values()}
    keys.update(pod.key for pod in base.pending.values())
    return keys


def _check_names(base: Base, changes: Changes) -> None:
    """BadRequest for a node or a pod that does not exist, or that exists already."""
    given = {node.metadata.name for node in changes.manifests.nodes}
    known: Callable[[str], bool] = {*base.nodes, *given}.__contains__
    for name in ("cordon", "uncordon", "drain", "delete_nodes"):
        _check(name, getattr(changes, name), known, "node", base)
    pods = _all_keys(base)
    _check("delete_pods", changes.delete_pods, pods.__contains__, "pod", base)
    pods -= set(changes.delete_pods)
    for pod in changes.manifests.pods:
        if pod.metadata.controller is not None:
            continue
        if pod.key in pods:
            where = f"already exists at version {base.version}, or is given twice"
            raise BadRequest(f'objects: pod "{pod.key}" {where}')
        pods.add(pod.key)


def _check(
    field_name: str, names: Sequence[str], known: Callable[[str], bool], what: str, base: Base
) -> None:
    for index, name in enumerate(names):
        if not known(name):
            raise BadRequest(
                f"{field_name}[{index}]: there is no {what} {name!r} at version {base.version}"
            )

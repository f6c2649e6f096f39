"""What differs between a cluster at two moments, pod by pod and node by node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from apps.studies.past.snapshots import Snapshot
from apps.studies.past.versions import NodeVersion, PodAt, PodVersion


class PodChange(StrEnum):
    """What happened to a pod; of several changes, the first in this order."""

    CREATED = "created"
    DELETED = "deleted"
    #: deleted, and a pod with this name was created again: on another node, or not
    MOVED = "moved"
    RECREATED = "recreated"
    BOUND = "bound"
    #: its deletion has begun
    TERMINATING = "terminating"
    PHASE = "phase-changed"
    CHANGED = "changed"


class NodeChange(StrEnum):
    """What happened to a node."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class PodDifference:
    """A pod that differs; `before` or `after` is null where it did not exist."""

    #: `moved` and `recreated`: deleted, and a pod with its name was created again, on another node
    #: or not. Of several changes, the first in this order
    change: PodChange
    namespace: str
    name: str
    uid: str
    before: PodAt | None
    after: PodAt | None

    ANSWER: ClassVar = ("change", "namespace", "name", "before", "after")

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field of a node with its two values."""

    #: `unschedulable`, `labels.zone` …
    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class NodeDifference:
    """A node that differs; the fields only of one that exists at both moments."""

    change: NodeChange
    name: str
    fields_changed: Sequence[FieldDifference] = ()


_FIELDS = ("ready", "unschedulable", "taints", "labels", "allocatable")


def find_pod_differences(before: Snapshot, after: Snapshot) -> list[PodDifference]:
    """The pods that differ, by namespace and name."""
    earlier = {pod.key: pod for pod in before.pods.values()}
    later = {pod.key: pod for pod in after.pods.values()}
    differences = _compare_pods(
        (earlier.get(key), later.get(key)) for key in sorted({*earlier, *later})
    )
    return list(differences)


def find_node_differences(before: Snapshot, after: Snapshot) -> list[NodeDifference]:
    """The nodes that differ, by name."""
    earlier = {node.name: node for node in before.nodes.values()}
    later = {node.name: node for node in after.nodes.values()}
    differences = []
    for name in sorted({*earlier, *later}):
        old, new = earlier.get(name), later.get(name)
        if old is None:
            differences.append(NodeDifference(NodeChange.ADDED, name))
        elif new is None:
            differences.append(NodeDifference(NodeChange.REMOVED, name))
        elif fields := _compare_nodes(old, new):
            differences.append(NodeDifference(NodeChange.CHANGED, name, fields))
    return differences


def _compare_pods(
    pairs: Iterable[tuple[PodVersion | None, PodVersion | None]],
) -> Iterator[PodDifference]:
    for old, new in pairs:
        change = _classify(old, new)
        if change is not None:
            newest = new or old
            assert newest is not None
            yield PodDifference(change, newest.namespace, newest.name, newest.uid, old, new)


def _classify(old: PodVersion | None, new: PodVersion | None) -> PodChange | None:
    """What happened to a pod; None if nothing that a snapshot has."""
    if old is None:
        return PodChange.CREATED
    if new is None:
        return PodChange.DELETED
    if old.uid != new.uid:
        return PodChange.MOVED if old.node and old.node != new.node else PodChange.RECREATED
    if old.node != new.node:
        return PodChange.BOUND
    if new.terminating and not old.terminating:
        return PodChange.TERMINATING
    if old.phase != new.phase:
        return PodChange.PHASE
    return PodChange.CHANGED if _content(old) != _content(new) else None


def _content(pod: PodVersion) -> tuple[object, ...]:
    return pod.terminating, pod.priority, pod.labels, pod.requests


def _compare_nodes(old: NodeVersion, new: NodeVersion) -> list[FieldDifference]:
    """The fields that differ; of a mapping, only the members that differ."""
    if old is new:
        return []
    differences = [] if old.uid == new.uid else [FieldDifference("uid", old.uid, new.uid)]
    for name in _FIELDS:
        one, other = getattr(old, name), getattr(new, name)
        if one == other:
            continue
        if isinstance(one, Mapping):
            differences += _compare_members(name, one, other)
        else:
            differences.append(FieldDifference(name, one, other))
    return differences


def _compare_members(
    name: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> list[FieldDifference]:
    return [
        FieldDifference(f"{name}.{key}", old.get(key), new.get(key))
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    ]

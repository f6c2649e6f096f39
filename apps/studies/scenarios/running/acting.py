"""The operations of a scenario, on a cluster in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from apps.cluster import kinds, merge_patch, node_changes
from apps.cluster.errors import BadRequest, TooManyRequests
from apps.cluster.writes import Create, Delete, Update, Write
from apps.cluster.writing.eviction import eviction_writes, matching_budgets
from apps.studies.scenarios.language.types import (
    ACTIONS,
    NodeTarget,
    ObjectTarget,
    Operation,
    Patch,
    Scale,
    Tainting,
)
from apps.studies.scenarios.memory.cluster import MemoryCluster
from apps.studies.scenarios.memory.memory_objects import object_kind
from apps.studies.scenarios.running.workload_pods import mark

Body = dict[str, Any]
Change = Callable[[Mapping[str, Any]], Body]

#: A drain tries blocked evictions again so often, as kubectl does.
RETRY_SECONDS = 5.0


def action_of(operation: Operation) -> str:
    """The name of the field that says what is done."""
    return next(name for name in ACTIONS if getattr(operation, name) is not None)


class Actions:
    """Acts on one cluster; errors are ApiErrors."""

    def __init__(
        self, cluster: MemoryCluster, later: Callable[[float, Callable[[], None]], None]
    ) -> None:
        """`later` calls a function after so many seconds."""
        self._cluster = cluster
        self._later = later

    def act(self, operation: Operation) -> None:
        """Do what an operation says."""
        name = action_of(operation)
        getattr(self, f"_{name}")(getattr(operation, name))

    def apply(self, objects: Sequence[Body], workload: str = "") -> None:
        """Create objects, or merge what is given into those that exist."""
        for body in objects:
            self._put(mark(body, workload) if workload else body)

    def _apply(self, objects: Sequence[Body]) -> None:
        self.apply(objects)

    def _put(self, body: Body) -> None:
        kind = object_kind(str(body.get("apiVersion")), str(body.get("kind")))
        metadata = body["metadata"]
        namespace = (metadata.get("namespace") or "default") if kind.namespaced else ""
        name = metadata.get("name", "")
        if name and self._cluster.objects.find(kind, namespace, name) is not None:
            change = partial(merge_patch.merge, patch=body)
            self._write(Update(kind, namespace, name, change))
        else:
            self._write(Create(kind, body, namespace))

    def _patch(self, patch: Patch) -> None:
        change = partial(merge_patch.merge, patch=patch.patch)
        self._write(Update(*_key(patch), change, patch.subresource))

    def _delete(self, target: ObjectTarget) -> None:
        self._write(Delete(*_key(target), {"propagationPolicy": "Background"}))

    def _scale(self, scale: Scale) -> None:
        patch = {"spec": {"replicas": scale.replicas}}
        self._write(Update(*_key(scale), partial(merge_patch.merge, patch=patch)))

    def _taint(self, tainting: Tainting) -> None:
        self._change_nodes(tainting.nodes, node_changes.change_taint(tainting.taint))

    def _untaint(self, tainting: Tainting) -> None:
        key, _, effect = tainting.taint.rpartition(":")
        removed = f"{key.partition('=')[0]}:{effect}"
        self._change_nodes(tainting.nodes, node_changes.remove_taint(removed))

    def _cordon(self, target: str | NodeTarget) -> None:
        self._change_nodes(target, node_changes.cordon(True))

    def _uncordon(self, target: str | NodeTarget) -> None:
        self._change_nodes(target, node_changes.cordon(False))

    def _fail(self, target: str | NodeTarget) -> None:
        """The kubelet stops reporting: nothing starts or ends on the node."""
        change = node_changes.change_condition("Ready", "Unknown", self._cluster.row.now())
        self._change_nodes(target, change, "status")

    def _recover(self, target: str | NodeTarget) -> None:
        change = node_changes.change_condition("Ready", "True", self._cluster.row.now())
        self._change_nodes(target, change, "status")

    def _drain(self, target: str | NodeTarget) -> None:
        names = self._names(target)
        self._change_nodes(target, node_changes.cordon(True))
        self._evict_from(names)

    def _evict_from(self, names: Sequence[str]) -> None:
        """Evict the pods of cordoned nodes; those that a budget protects later again."""
        blocked = False
        budgets = self._cluster.objects.list_all(kinds.by_name("PodDisruptionBudget"))
        for body in self._pods_to_evict(names):
            try:
                matching = matching_budgets(budgets, body)
                self._write(*eviction_writes(body, matching, self._cluster.row.now()))
            except TooManyRequests:
                blocked = True
                continue
            # the eviction has changed the allowance
            budgets = self._cluster.objects.list_all(kinds.by_name("PodDisruptionBudget"))
        if blocked:
            self._later(RETRY_SECONDS, partial(self._evict_from, names))

    def _pods_to_evict(self, names: Sequence[str]) -> list[Body]:
        """The pods of the nodes that a drain evicts, in the order of their creation."""
        bodies = []
        for body in self._cluster.objects.list_all(kinds.POD):
            metadata = body["metadata"]
            owners = metadata.get("ownerReferences") or ()
            stays = any(each["kind"] == "DaemonSet" and each.get("controller") for each in owners)
            ended = (body.get("status") or {}).get("phase") in ("Succeeded", "Failed")
            is_here = body["spec"].get("nodeName") in names
            if is_here and not stays and not ended and not metadata.get("deletionTimestamp"):
                bodies.append(body)
        return bodies

    def _change_nodes(
        self, target: str | NodeTarget, change: Change, subresource: str = ""
    ) -> None:
        names = self._names(target)
        self._write(*(Update(kinds.NODE, "", name, change, subresource) for name in names))

    def _names(self, target: str | NodeTarget) -> list[str]:
        """The names of the nodes; BadRequest if there is none."""
        wanted = NodeTarget(names=[target]) if isinstance(target, str) else target
        names = [
            body["metadata"]["name"]
            for body in self._cluster.objects.list_all(kinds.NODE)
            if matches_node(wanted, body["metadata"]["name"], body["metadata"].get("labels") or {})
        ]
        if not names:
            raise BadRequest("no node matches")
        return names

    def _write(self, *writes: Write) -> None:
        self._cluster.write(writes)


def matches_node(target: NodeTarget, name: str, labels: Mapping[str, str]) -> bool:
    """Whether a node has one of the names, if any are given, and all labels of the target."""
    named = not target.names or name in target.names
    return named and target.labels.items() <= labels.items()


def _key(target: ObjectTarget) -> tuple[kinds.Kind, str, str]:
    kind = kinds.by_name(target.kind)
    return kind, target.namespace if kind.namespaced else "", target.name

"""Separates what was done to a cluster from what followed from its scheduler's decisions.

Once a decision differs, only the former is replayed: objects that users and workload controllers
created, updated or deleted, and every change of nodes. What followed is left out and follows again
from the decisions of the replay: bindings, statuses of pods, preemption, evictions from nodes, and
the pods that controllers created in place of evicted ones. Which pods a ReplicaSet deletes when it
has too many depends on where they are, so the replay selects them itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from apps.cluster.log.changelog import LoggedChange
from apps.controllers import taint_eviction
from apps.controllers.devices import eviction
from apps.controllers.kubelet.pod_kubelet import CONTROLLER as KUBELET
from apps.controllers.pod_garbage import CONTROLLER as POD_GARBAGE
from apps.controllers.workloads.replicas import CONTROLLER as REPLICAS
from apps.engine.loop.intended_writes import USER as SCHEDULER

#: Those who evict pods because of where the scheduler has placed them.
_EVICTORS: Final = frozenset({SCHEDULER, taint_eviction.USER, eviction.USER, POD_GARBAGE.user})
#: Those whose changes of pods follow from a binding.
_FOLLOWERS: Final = _EVICTORS | {KUBELET.user}
_BINDERS: Final = frozenset({SCHEDULER, "persistent-volume-binder"})
_VOLUMES: Final = frozenset({"PersistentVolume", "PersistentVolumeClaim"})
Body = Mapping[str, Any]


class Input(StrEnum):
    """What a change means for a replay."""

    #: it followed from decisions
    NONE = "none"
    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    #: a pod that takes the place of an evicted one
    REPLACED = "replaced"
    #: the controller of a pod deletes it because it has one too many
    SURPLUS = "surplus"


@dataclass(slots=True)
class Inputs:
    """Classifies the changes of a span, in order."""

    #: uid -> who started the deletion of the pod
    _deleted_by: dict[str, str] = field(default_factory=dict)
    #: uid of a controller -> uids of its evicted pods that no pod has replaced yet
    _missing: dict[str, list[str]] = field(default_factory=dict)
    #: uid -> what a user or a controller wrote of the pod
    _written: dict[str, Any] = field(default_factory=dict)
    #: uid of a pod -> uid of the evicted pod that it replaces
    replaced: dict[str, str] = field(default_factory=dict)
    #: uids of the pods that their controllers had too many of
    surplus: set[str] = field(default_factory=set)
    counted: Counter[Input] = field(default_factory=Counter)

    def classify(self, change: LoggedChange) -> Input:
        origin = (
            self._classify_pod(change) if change.kind == "Pod" else self._classify_other(change)
        )
        self.counted[origin] += 1
        return origin

    def diverge(self) -> None:
        """Note that the replay differs from now on: evictions until now have happened in both."""
        self._missing.clear()
        self.surplus.clear()
        self._deleted_by = dict.fromkeys(self._deleted_by, "")

    def _classify_other(self, change: LoggedChange) -> Input:
        if change.kind in _VOLUMES and change.user in _BINDERS:
            return Input.NONE
        if change.kind == "ResourceClaim" and change.user in _FOLLOWERS:
            return Input.NONE
        return {
            "ADDED": Input.CREATED,
            "MODIFIED": Input.UPDATED,
            "DELETED": Input.DELETED,
        }[change.type]

    def _classify_pod(self, change: LoggedChange) -> Input:
        uid, body = change.uid, change.object
        before, self._written[uid] = self._written.get(uid), _written(body)
        if change.type == "ADDED":
            missing = self._missing.get(_controller(body))
            if not missing:
                return Input.CREATED
            self.replaced[uid] = missing.pop(0)
            return Input.REPLACED
        is_leaving = body["metadata"].get("deletionTimestamp") or change.type == "DELETED"
        if is_leaving and uid not in self._deleted_by:
            self._note_deletion(uid, change.user, body)
            if uid in self.surplus and change.type != "DELETED":
                return Input.SURPLUS
        if change.type == "DELETED":
            self._written.pop(uid, None)
            return Input.NONE if self._deleted_by[uid] in _EVICTORS else Input.DELETED
        is_input = change.user not in _FOLLOWERS and before != self._written[uid]
        return Input.UPDATED if is_input else Input.NONE

    def _note_deletion(self, uid: str, user: str, body: Body) -> None:
        self._deleted_by[uid] = user
        if user == REPLICAS.user:
            self.surplus.add(uid)
        if user in _EVICTORS and (controller := _controller(body)):
            self._missing.setdefault(controller, []).append(uid)


def _controller(body: Body) -> str:
    """The uid of the pod's controller; "" without one."""
    owners = body["metadata"].get("ownerReferences") or ()
    return next((each["uid"] for each in owners if each.get("controller")), "")


def _written(body: Body) -> Any:
    """What users and controllers write of a pod; the scheduler and kubelets write the rest."""
    metadata = body["metadata"]
    spec = {key: value for key, value in body["spec"].items() if key != "nodeName"}
    return spec, metadata.get("annotations"), metadata.get("ownerReferences")

"""Cluster events: what may make an unschedulable pod schedulable, and which plugins register it.

An event is a resource and an action. A plugin registers the events after which it may no longer
reject a pod, each with a hint function that inspects the change (`ClusterEventWithHint`). Events
are raised as specifically as possible: `node_update_events` and `pod_update_events` split an update
into the properties that changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, IntFlag
from typing import Any, Final

from apps import quantity
from apps.scheduler.framework.resources import has_resize_status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Node, Pod, ResourceList


class ActionType(IntFlag):
    """The change of a resource; a registration may combine several flags."""

    ADD = 1 << 0
    DELETE = 1 << 1
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    UPDATE_NODE_LABEL = 1 << 3
    UPDATE_NODE_TAINT = 1 << 4
    UPDATE_NODE_CONDITION = 1 << 5
    UPDATE_NODE_ANNOTATION = 1 << 6
    UPDATE_NODE_DECLARED_FEATURE = 1 << 7
    UPDATE_POD_LABEL = 1 << 8
    UPDATE_POD_SCALE_DOWN = 1 << 9
    UPDATE_POD_TOLERATION = 1 << 10
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 11
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 12
    #: an update that is none of the above; never registered or raised alone
    UPDATE_OTHER = 1 << 13
    ALL = (1 << 14) - 1
    UPDATE = ALL & ~(ADD | DELETE)


class Resource:
    """The resources of events, by the names that plugins and labels use."""

    WILDCARD = "*"
    POD = "Pod"
    #: a pod that is bound to a node; raised only, plugins register `POD`
    ASSIGNED_POD = "AssignedPod"
    #: a pod that waits for a node; raised only, plugins register `POD`
    UNSCHEDULABLE_POD = "UnschedulablePod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    POD_GROUP = "scheduling.k8s.io/PodGroup"


_POD_RESOURCES = frozenset({Resource.POD, Resource.ASSIGNED_POD, Resource.UNSCHEDULABLE_POD})

_ACTION_NAMES = {
    ActionType.ADD: "Add",
    ActionType.DELETE: "Delete",
    ActionType.UPDATE_NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    ActionType.UPDATE_NODE_LABEL: "UpdateNodeLabel",
    ActionType.UPDATE_NODE_TAINT: "UpdateNodeTaint",
    ActionType.UPDATE_NODE_CONDITION: "UpdateNodeCondition",
    ActionType.UPDATE_NODE_ANNOTATION: "UpdateNodeAnnotation",
    ActionType.UPDATE_NODE_DECLARED_FEATURE: "UpdateNodeDeclaredFeature",
    ActionType.UPDATE_POD_LABEL: "UpdatePodLabel",
    ActionType.UPDATE_POD_SCALE_DOWN: "UpdatePodScaleDown",
    ActionType.UPDATE_POD_TOLERATION: "UpdatePodToleration",
    ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM: "UpdatePodGeneratedResourceClaim",
    ActionType.ALL: "All",
    ActionType.UPDATE: "Update",
}
_ACTIONS_BY_NAME = {name: action for action, name in _ACTION_NAMES.items()}


def action_name(action: ActionType) -> str:
    """The action as in labels: "UpdateNodeTaint", "Update", or "Add|Delete" for a combination."""
    if action in _ACTION_NAMES:
        return _ACTION_NAMES[action]
    parts = [ActionType.UPDATE] if action & ActionType.UPDATE == ActionType.UPDATE else []
    rest = action & ~ActionType.UPDATE if parts else action
    return "|".join(_ACTION_NAMES[part] for part in [*(p for p in rest if p), *parts])


def action_by_name(name: str) -> ActionType:
    """The reverse of `action_name` for a single action; KeyError for an unknown one."""
    return _ACTIONS_BY_NAME[name]


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    resource: str
    action: ActionType
    #: the event's own name, shown instead of resource and action
    custom_label: str = ""

    @property
    def label(self) -> str:
        return self.custom_label or self.resource + action_name(self.action)

    @property
    def is_wildcard(self) -> bool:
        return self.resource == Resource.WILDCARD and self.action == ActionType.ALL

    def matches(self, incoming: ClusterEvent) -> bool:
        """Whether a registration for this event matches `incoming`.

        A registered Update matches any specific update; a specific registration does not match a
        plain Update, which is only raised if no more specific change is known.
        """
        if self.is_wildcard:
            return True
        return (
            self._matches_resource(incoming.resource)
            and self.action & incoming.action == incoming.action
        )

    def _matches_resource(self, incoming: str) -> bool:
        if self.resource in (Resource.WILDCARD, incoming):
            return True
        return self.resource == Resource.POD and incoming in _POD_RESOURCES


POP = "Pop"
DONE = "Done"
RESTORED = "Restored"
SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF_QUEUE = "PopFromBackoffQ"
FORCE_ACTIVATE = "ForceActivate"
UNSCHEDULABLE_TIMEOUT = "UnschedulableTimeout"
#: not upstream's: a user's request, another active configuration, a log that was truncated
MANUAL_ACTIVATE = "ManualActivate"
CONFIGURATION_CHANGE = "ConfigurationChange"
EVENTS_FORGOTTEN = "EventsForgotten"

WILDCARD_EVENT = ClusterEvent(Resource.WILDCARD, ActionType.ALL)
EVENT_ASSIGNED_POD_ADD = ClusterEvent(Resource.ASSIGNED_POD, ActionType.ADD)
EVENT_ASSIGNED_POD_DELETE = ClusterEvent(Resource.ASSIGNED_POD, ActionType.DELETE)
EVENT_ASSIGNED_POD_UPDATE = ClusterEvent(Resource.ASSIGNED_POD, ActionType.UPDATE)
EVENT_UNSCHEDULED_POD_ADD = ClusterEvent(Resource.UNSCHEDULABLE_POD, ActionType.ADD)
EVENT_UNSCHEDULED_POD_UPDATE = ClusterEvent(Resource.UNSCHEDULABLE_POD, ActionType.UPDATE)
EVENT_UNSCHEDULED_POD_DELETE = ClusterEvent(Resource.UNSCHEDULABLE_POD, ActionType.DELETE)
EVENT_NODE_ADD = ClusterEvent(Resource.NODE, ActionType.ADD)
EVENT_NODE_DELETE = ClusterEvent(Resource.NODE, ActionType.DELETE)
EVENT_UNSCHEDULABLE_TIMEOUT = ClusterEvent(Resource.WILDCARD, ActionType.ALL, UNSCHEDULABLE_TIMEOUT)
EVENT_EVENTS_FORGOTTEN = ClusterEvent(Resource.WILDCARD, ActionType.ALL, EVENTS_FORGOTTEN)
EVENT_FORCE_ACTIVATE = ClusterEvent(Resource.WILDCARD, ActionType.ALL, FORCE_ACTIVATE)


class QueueingHint(Enum):
    """A plugin's answer for a pod that it rejected and an event: retry, or not."""

    QUEUE = "Queue"
    QUEUE_SKIP = "QueueSkip"


#: (rejected pod, old object, new object) -> hint. `old` is None for an addition, `new` for a
#: deletion. An exception counts as Queue: a failing hint must not block a pod forever.
QueueingHintFn = Callable[[PodInfo, Any, Any], QueueingHint]


#: in place of which objects a hint looks for: only changes of the rejected pod itself count
ITSELF: Final = "itself"


def never_queue(pod: PodInfo, old: Any, new: Any) -> QueueingHint:
    """The hint of a plugin that registers an event and leaves retries to the other plugins."""
    return QueueingHint.QUEUE_SKIP


@dataclass(frozen=True, slots=True)
class ClusterEventWithHint:
    event: ClusterEvent
    #: None = always Queue
    hint: QueueingHintFn | None = None
    #: which objects the hint looks for, for people: "that is not cordoned"; ITSELF = the pod alone
    looks_for: str = ""


#: the events of a plugin that does not register any
EVERY_EVENT = (ClusterEventWithHint(WILDCARD_EVENT),)


def node_update_events(old: Node, new: Node) -> list[ClusterEvent]:
    """What changed on a node, one event per property; empty if nothing is relevant."""
    changed = (
        # Becoming schedulable again has the effect of a removed taint.
        (ActionType.UPDATE_NODE_TAINT, old.spec.unschedulable and not new.spec.unschedulable),
        (
            ActionType.UPDATE_NODE_ALLOCATABLE,
            _resources_differ(old.status.allocatable, new.status.allocatable),
        ),
        (ActionType.UPDATE_NODE_LABEL, old.metadata.labels != new.metadata.labels),
        (ActionType.UPDATE_NODE_TAINT, old.spec.taints != new.spec.taints),
        (ActionType.UPDATE_NODE_CONDITION, _conditions(old) != _conditions(new)),
        (ActionType.UPDATE_NODE_ANNOTATION, old.metadata.annotations != new.metadata.annotations),
        (
            ActionType.UPDATE_NODE_DECLARED_FEATURE,
            old.status.declared_features != new.status.declared_features,
        ),
    )
    return [ClusterEvent(Resource.NODE, action) for action, happened in changed if happened]


def pod_update_events(old: Pod, new: Pod) -> list[ClusterEvent]:
    """What changed on a pod, one event per property; a plain Update for any other change.

    The resource is AssignedPod if the new version has a node, else UnschedulablePod.
    """
    resource = Resource.ASSIGNED_POD if new.spec.node_name else Resource.UNSCHEDULABLE_POD
    gates_gone = bool(old.spec.scheduling_gates) and not new.spec.scheduling_gates
    changed = (
        (ActionType.UPDATE_POD_LABEL, old.metadata.labels != new.metadata.labels),
        (ActionType.UPDATE_POD_SCALE_DOWN, _is_scaled_down(old, new)),
        (ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, gates_gone),
        (
            ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
            old.status.resource_claim_statuses != new.status.resource_claim_statuses,
        ),
        # Tolerations can only be added, so comparing their number is enough.
        (ActionType.UPDATE_POD_TOLERATION, len(old.spec.tolerations) != len(new.spec.tolerations)),
    )
    actions = [action for action, happened in changed if happened]
    if not actions:
        return [EVENT_ASSIGNED_POD_UPDATE if new.spec.node_name else EVENT_UNSCHEDULED_POD_UPDATE]
    return [ClusterEvent(resource, action) for action in actions]


def _resources_differ(old: ResourceList, new: ResourceList) -> bool:
    return old.keys() != new.keys() or any(
        quantity.compare(amount, new[name]) != 0 for name, amount in old.items()
    )


def _conditions(node: Node) -> Mapping[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}


def _is_scaled_down(old: Pod, new: Pod) -> bool:
    if old.spec == new.spec and not (has_resize_status(old) or has_resize_status(new)):
        return False
    after = PodInfo(new).requests
    return any(amount > after.get(name, -1) for name, amount in PodInfo(old).requests.items())

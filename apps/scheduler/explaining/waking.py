"""The events that trigger a retry of a rejected pod: those its rejecting plugins registered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from apps.scheduler.framework.events import (
    ITSELF,
    ActionType,
    ClusterEventWithHint,
    Resource,
    never_queue,
)
from apps.scheduler.framework.runtime import Framework

_RESOURCES: Final[Mapping[str, str]] = {
    Resource.POD: "pod",
    Resource.NODE: "node",
    Resource.PERSISTENT_VOLUME: "persistent volume",
    Resource.PERSISTENT_VOLUME_CLAIM: "persistent volume claim",
    Resource.STORAGE_CLASS: "storage class",
    Resource.CSI_NODE: "CSI node",
    Resource.CSI_DRIVER: "CSI driver",
    Resource.CSI_STORAGE_CAPACITY: "CSI storage capacity",
    Resource.VOLUME_ATTACHMENT: "volume attachment",
    Resource.RESOURCE_CLAIM: "resource claim",
    Resource.RESOURCE_SLICE: "resource slice",
    Resource.DEVICE_CLASS: "device class",
    Resource.POD_GROUP: "pod group",
}
_ACTIONS: Final[Mapping[ActionType, str]] = {
    ActionType.ADD: "is added",
    ActionType.DELETE: "is deleted",
    ActionType.UPDATE: "is updated",
    ActionType.UPDATE_NODE_ALLOCATABLE: "gets other allocatable resources",
    ActionType.UPDATE_NODE_LABEL: "gets other labels",
    ActionType.UPDATE_NODE_TAINT: "is uncordoned or gets other taints",
    ActionType.UPDATE_NODE_CONDITION: "gets other conditions",
    ActionType.UPDATE_NODE_ANNOTATION: "gets other annotations",
    ActionType.UPDATE_NODE_DECLARED_FEATURE: "gets other declared features",
    ActionType.UPDATE_POD_LABEL: "gets other labels",
    ActionType.UPDATE_POD_SCALE_DOWN: "requests fewer resources",
    ActionType.UPDATE_POD_TOLERATION: "gets other tolerations",
    ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "has no scheduling gates left",
    ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM: "has a resource claim generated",
    ActionType.UPDATE_OTHER: "is updated in another way",
}


@dataclass(frozen=True, slots=True)
class WakeEvent:
    """One event that a plugin registered."""

    plugin: str
    #: as in metrics and the history of the queue: `NodeAdd|UpdateNodeTaint`
    event: str
    sentence: str
    #: the plugin checks each change before the pod is retried
    has_hint: bool


def wake_events(framework: Framework, rejectors: Iterable[str]) -> list[WakeEvent]:
    """The events that may trigger a retry of a pod that these plugins rejected."""
    wanted = set(rejectors)
    return [
        WakeEvent(plugin, each.event.label, _sentence(each), each.hint is not None)
        for plugin, events in framework.registered_events()
        for each in events
        if plugin in wanted and each.hint is not never_queue
    ]


def _sentence(registered: ClusterEventWithHint) -> str:
    event, which = registered.event, registered.looks_for
    if event.is_wildcard or event.resource == Resource.WILDCARD:
        return "Anything in the cluster changes"
    thing = _RESOURCES.get(event.resource, event.resource)
    article = "An" if thing[0] in "aeiou" else "A"
    actions = " or ".join(_describe_actions(event.action))
    if which == ITSELF:
        return f"This pod {actions}"
    return f"{article} {thing} {f'{which} ' if which else ''}{actions}"


def _describe_actions(action: ActionType) -> list[str]:
    described = []
    if action & ActionType.UPDATE == ActionType.UPDATE:
        described.append(_ACTIONS[ActionType.UPDATE])
        action &= ~ActionType.UPDATE
    return [
        *(words for flag, words in _ACTIONS.items() if flag in action and flag.bit_count() == 1),
        *described,
    ]

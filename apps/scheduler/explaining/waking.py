"""What would bring a rejected pod back into the queue: the events that its rejectors wait for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from apps.scheduler.framework.events import ActionType, ClusterEvent, Resource
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.plugins import names

#: only the rejected pod itself counts
_ITSELF: Final = "itself"
#: what the hint functions look for, by plugin and resource; see their own docstrings
_WHICH: Final[Mapping[tuple[str, str], str]] = {
    (names.NODE_RESOURCES_FIT, Resource.POD): "that holds something this pod asks for",
    (names.NODE_RESOURCES_FIT, Resource.NODE): "that could take the pod if it were empty",
    (names.NODE_AFFINITY, Resource.NODE): "that matches the pod's node selector and affinity",
    (names.NODE_PORTS, Resource.POD): "that holds a host port this pod wants",
    (names.NODE_UNSCHEDULABLE, Resource.NODE): "that is not cordoned",
    (names.NODE_UNSCHEDULABLE, Resource.POD): _ITSELF,
    (names.TAINT_TOLERATION, Resource.NODE): "whose taints the pod tolerates",
    (names.TAINT_TOLERATION, Resource.POD): _ITSELF,
    (names.POD_TOPOLOGY_SPREAD, Resource.POD): "that one of its spread constraints counts",
    (names.POD_TOPOLOGY_SPREAD, Resource.NODE): "in a domain of every spread constraint",
    (names.INTER_POD_AFFINITY, Resource.POD): "that its affinity or anti-affinity is about",
    (names.INTER_POD_AFFINITY, Resource.NODE): "in a domain of its affinity or anti-affinity",
    (names.SCHEDULING_GATES, Resource.POD): _ITSELF,
    (names.VOLUME_RESTRICTIONS, Resource.POD): "that uses a disk or claim this pod wants",
    (names.NODE_VOLUME_LIMITS, Resource.POD): "whose volumes count against a driver's limit",
}
_THINGS: Final[Mapping[str, str]] = {
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
}
_DONE: Final[Mapping[ActionType, str]] = {
    ActionType.ADD: "is added",
    ActionType.DELETE: "is deleted",
    ActionType.UPDATE: "changes",
    ActionType.UPDATE_NODE_ALLOCATABLE: "has other allocatable resources",
    ActionType.UPDATE_NODE_LABEL: "has other labels",
    ActionType.UPDATE_NODE_TAINT: "gets or loses taints or a cordon",
    ActionType.UPDATE_NODE_CONDITION: "has other conditions",
    ActionType.UPDATE_NODE_ANNOTATION: "has other annotations",
    ActionType.UPDATE_NODE_DECLARED_FEATURE: "declares other features",
    ActionType.UPDATE_POD_LABEL: "has other labels",
    ActionType.UPDATE_POD_SCALE_DOWN: "asks for less",
    ActionType.UPDATE_POD_TOLERATION: "has other tolerations",
    ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "has no scheduling gates any more",
    ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM: "has got a resource claim",
    ActionType.UPDATE_OTHER: "changes otherwise",
}


@dataclass(frozen=True, slots=True)
class WakeEvent:
    """One event that a plugin registered."""

    plugin: str
    #: as metrics and the queue's history spell it: "NodeAdd|UpdateNodeTaint"
    event: str
    sentence: str
    #: the plugin looks at the very change before it wakes the pod
    has_hint: bool


def wake_events(framework: Framework, rejectors: Iterable[str]) -> list[WakeEvent]:
    """The events that may wake a pod which these plugins rejected."""
    wanted = set(rejectors)
    return [
        WakeEvent(plugin, each.event.label, _sentence(plugin, each.event), each.hint is not None)
        for plugin, events in framework.registered_events()
        for each in events
        # preemption hears of deletions, but never speaks for a retry
        if plugin in wanted and plugin != names.DEFAULT_PREEMPTION
    ]


def _sentence(plugin: str, event: ClusterEvent) -> str:
    if event.is_wildcard or event.resource == Resource.WILDCARD:
        return "Anything changes"
    thing = _THINGS.get(event.resource, event.resource)
    article = "An" if thing[0] in "aeiou" else "A"
    deeds = " or ".join(_deeds(event.action))
    which = _WHICH.get((plugin, event.resource), "")
    if which == _ITSELF:
        return f"This pod {deeds}"
    return f"{article} {thing} {f'{which} ' if which else ''}{deeds}"


def _deeds(action: ActionType) -> list[str]:
    found = []
    if action & ActionType.UPDATE == ActionType.UPDATE:
        found.append(_DONE[ActionType.UPDATE])
        action &= ~ActionType.UPDATE
    return [
        *(words for flag, words in _DONE.items() if flag in action and flag.bit_count() == 1),
        *found,
    ]

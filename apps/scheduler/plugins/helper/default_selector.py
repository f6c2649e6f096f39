"""The selector of the pods that belong to the same services and controller as a pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.labels import (
    EVERYTHING,
    Selector,
    SelectorError,
    from_label_selector,
    from_set,
)

_REPLICATION_CONTROLLER: Final = ("v1", "ReplicationController")
_REPLICA_SET: Final = ("apps/v1", "ReplicaSet")
_STATEFUL_SET: Final = ("apps/v1", "StatefulSet")


def default_selector(pod: PodInfo, listers: Listers) -> Selector:
    """The labels of all services that select the pod, and its controller's selector.

    A selector that selects everything means that the pod belongs to none.
    """
    labels = _service_labels(pod, listers)
    owner = pod.pod.metadata.controller
    if owner is None:
        return from_set(labels)
    kind = (owner.api_version, owner.kind)
    if kind == _REPLICATION_CONTROLLER:
        controller = listers.replication_controllers.get(owner.name, pod.namespace)
        return from_set({**labels, **(controller.spec.selector if controller else {})})
    added = _controller_selector(kind, owner.name, pod.namespace, listers)
    both = set(from_set(labels).requirements).union(added.requirements)
    return Selector(tuple(sorted(both)))


def sources_version(listers: Listers) -> tuple[int, ...]:
    """Changes whenever the selector of some pod may have changed."""
    return (
        listers.services.log.position,
        listers.replication_controllers.log.position,
        listers.replica_sets.log.position,
        listers.stateful_sets.log.position,
    )


def _service_labels(pod: PodInfo, listers: Listers) -> Mapping[str, str]:
    labels: dict[str, str] = {}
    for service in listers.services.in_namespace(pod.namespace):
        selector = service.spec.selector
        if all(pod.labels.get(key) == value for key, value in selector.items()):
            labels.update(selector)
    return labels


def _controller_selector(
    kind: tuple[str, str], name: str, namespace: str, listers: Listers
) -> Selector:
    """The selector of the controller; selects everything if the controller has none."""
    if kind == _REPLICA_SET:
        replica_set = listers.replica_sets.get(name, namespace)
        written = replica_set.spec.selector if replica_set else None
    elif kind == _STATEFUL_SET:
        stateful_set = listers.stateful_sets.get(name, namespace)
        written = stateful_set.spec.selector if stateful_set else None
    else:
        return EVERYTHING
    try:
        selector = from_label_selector(written)
    except SelectorError:
        return EVERYTHING
    return EVERYTHING if selector.nothing else selector

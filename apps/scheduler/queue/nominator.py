"""Which pods are nominated to a node: by preemption, or by another component.

The filter phase counts a nominated pod as if it ran on its node, so that no pod of lower priority
uses the room that preemption makes. A nomination here may be newer than the pod's status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod


@dataclass(frozen=True, slots=True)
class Nomination:
    pod_info: PodInfo
    node_name: str
    #: increases with every nomination
    number: int


class Nominator:
    def __init__(self) -> None:
        self._by_uid: dict[str, Nomination] = {}
        #: node name -> uid -> nomination, in the order of nomination
        self._by_node: dict[str, dict[str, Nomination]] = {}
        self._last_number = 0
        self._listeners: list[Callable[[PodInfo, str, int], None]] = []

    def __len__(self) -> int:
        return len(self._by_uid)

    def __iter__(self) -> Iterator[tuple[str, PodInfo]]:
        """(node name, pod); the pods of a node in the order of their nomination."""
        for node_name, nominations in self._by_node.items():
            for nomination in nominations.values():
                yield node_name, nomination.pod_info

    def add(self, pod_info: PodInfo, node_name: str | None = None) -> None:
        """Nominate the pod to the node; it is added at the end of the node's list.

        None uses the node of the pod's status; "" withdraws any nomination.
        """
        self.delete(pod_info.uid)
        node = pod_info.pod.status.nominated_node_name if node_name is None else node_name
        if node:
            self._last_number += 1
            self._put(Nomination(pod_info, node, self._last_number))

    def update(self, old: Pod, pod_info: PodInfo) -> None:
        """Follow an update of the pod.

        If the status names no node, before and after, a nomination made here stays: such updates
        happen between the nomination and the write of the pod's status.
        """
        known = self._by_uid.get(old.metadata.uid)
        silent = not (old.status.nominated_node_name or pod_info.pod.status.nominated_node_name)
        self.delete(old.metadata.uid)
        self.add(pod_info, known.node_name if known and silent else None)

    def delete(self, uid: str) -> None:
        nomination = self._by_uid.pop(uid, None)
        if nomination is not None:
            others = self._by_node[nomination.node_name]
            del others[uid]
            if not others:
                del self._by_node[nomination.node_name]
            self._notify(nomination, -1)

    def subscribe(self, listener: Callable[[PodInfo, str, int], None]) -> None:
        """Call ``listener`` for every nomination (pod, node name, 1) and withdrawal (…, -1).

        It is called at once for the nominations that exist already.
        """
        self._listeners.append(listener)
        for node_name, pod_info in self:
            listener(pod_info, node_name, 1)

    @contextmanager
    def dropping_listeners(self) -> Iterator[None]:
        """Listeners that subscribe in the block are not called after it."""
        known = len(self._listeners)
        try:
            yield
        finally:
            del self._listeners[known:]

    def get(self, uid: str) -> Nomination | None:
        return self._by_uid.get(uid)

    def pods_for_node(self, node_name: str) -> list[PodInfo]:
        """The pods nominated to the node, in the order of their nomination."""
        return [nomination.pod_info for nomination in self._by_node.get(node_name, {}).values()]

    def restore(self, nominations: list[Nomination]) -> None:
        """Restore nominations with their numbers."""
        for nomination in sorted(nominations, key=lambda n: n.number):
            self._put(nomination)
            self._last_number = nomination.number

    def _put(self, nomination: Nomination) -> None:
        uid = nomination.pod_info.uid
        self._by_uid[uid] = nomination
        self._by_node.setdefault(nomination.node_name, {})[uid] = nomination
        self._notify(nomination, 1)

    def _notify(self, nomination: Nomination, sign: int) -> None:
        for listener in self._listeners:
            listener(nomination.pod_info, nomination.node_name, sign)

"""Pods that the kubelet starts as soon as they are bound."""

from __future__ import annotations

from apps.controllers.cache import ControllerCache
from apps.controllers.kubelet.admission import FreeCapacity
from apps.controllers.kubelet.node_kubelet import has_bound_volumes, is_reachable
from apps.controllers.node_usage import is_new
from apps.scheduler.objects import Node, Pod


class ImmediateStarts:
    """Admits pods of one batch of bindings, in their order.

    A pod that is not started here is left to the kubelet's controller: it waits for a volume, or
    behind another pod of its node; its node is not ready; or it has to be rejected.
    """

    def __init__(self, cache: ControllerCache) -> None:
        self._cache = cache
        self._room: dict[str, FreeCapacity | None] = {}

    def start(self, pod: Pod) -> Node | None:
        """The node that starts this bound pod now; None if it does not."""
        node = self._cache.node(pod.spec.node_name)
        if node is None or not is_new(pod) or not has_bound_volumes(self._cache, pod):
            return None
        name = pod.spec.node_name
        if name not in self._room:
            self._room[name] = self._free_capacity(node)
        room = self._room[name]
        if room is None:
            return None
        if room.admit(pod) is not None:
            # it is rejected before the next pod of this node is admitted
            self._room[name] = None
            return None
        return node

    def _free_capacity(self, node: Node) -> FreeCapacity | None:
        usage = self._cache.usage_on(node.metadata.name)
        if usage.new or not is_reachable(node):
            return None
        return FreeCapacity.of(node, usage)

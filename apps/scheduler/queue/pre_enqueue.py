"""PreEnqueue: plugins that keep a pod out of activeQ and backoffQ, such as scheduling gates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from apps.scheduler.framework import guard
from apps.scheduler.framework.interface import AwaitedObject
from apps.scheduler.framework.status import SUCCESS, Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo

#: None = Success
PreEnqueueFn = Callable[[PodInfo], Status | None]
#: scheduler name -> (plugin name, its PreEnqueue) in profile order
PreEnqueuePlugins = Mapping[str, Sequence[tuple[str, PreEnqueueFn]]]
#: scheduler name -> plugin name -> the objects that a pod waits for
AwaitedObjects = Mapping[str, Mapping[str, Callable[[PodInfo], frozenset[AwaitedObject]]]]


class PreEnqueueGate:
    def __init__(self, plugins: PreEnqueuePlugins, awaited: AwaitedObjects) -> None:
        self._plugins, self._awaited = plugins, awaited

    def run(self, info: QueuedPodInfo) -> Status:
        """Run the plugins; the first refusal gates the pod and is returned.

        The plugin that gated the pod before runs first: most likely it still does.
        """
        plugins = self._plugins.get(info.pod.spec.scheduler_name, ())
        for name, pre_enqueue in sorted(plugins, key=lambda p: p[0] != info.gating_plugin):
            status = pre_enqueue(info.pod_info)
            if status is not None and not status.is_success:
                info.gating_plugin = name
                info.unschedulable_plugins |= {name}
                return status.by(name)
        info.gating_plugin = ""
        return SUCCESS

    def still_refuses(self, info: QueuedPodInfo) -> bool:
        """Whether the plugin that gated the pod would gate it again."""
        plugins = self._plugins.get(info.pod.spec.scheduler_name, ())
        statuses = (fn(info.pod_info) for name, fn in plugins if name == info.gating_plugin)
        return any(status is not None and not status.is_success for status in statuses)

    def awaited(self, info: QueuedPodInfo) -> frozenset[AwaitedObject] | None:
        """The objects whose events alone may open the gate of this pod; None if any event may."""
        plugins = self._awaited.get(info.pod.spec.scheduler_name, {})
        find = plugins.get(info.gating_plugin)
        if find is None:
            return None
        try:
            return find(info.pod_info)
        except Exception as raised:
            guard.failure(info.gating_plugin, "Awaited", raised)
            return None

"""The pods that were rejected, or that a PreEnqueue plugin gates, and wait for an event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from apps.scheduler.framework.affinity_terms import AffinityTerm
from apps.scheduler.objects import Pod
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo

#: the plugin that rejects pods which one more running pod may help, besides their affinity
_POD_TOPOLOGY_SPREAD: Final = "PodTopologySpread"


class UnschedulablePods:
    """Pods by key and by rejecting plugin, so that an event costs only for those it may help."""

    def __init__(self) -> None:
        self._infos: dict[str, QueuedPodInfo] = {}
        #: plugin -> keys of the pods it rejected (a dict for its order)
        self._keys_by_plugin: dict[str, dict[str, None]] = {}
        #: key -> the plugins under which the pod is listed
        self._plugins: dict[str, frozenset[str]] = {}
        #: key -> required affinity terms, for the pods that have any
        self._affinity_terms: dict[str, tuple[AffinityTerm, ...]] = {}

    def __len__(self) -> int:
        return len(self._infos)

    def __contains__(self, key: str) -> bool:
        return key in self._infos

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return iter(self._infos.values())

    def get(self, key: str) -> QueuedPodInfo | None:
        return self._infos.get(key)

    def put(self, info: QueuedPodInfo) -> None:
        """Add the pod, or list it under the plugins that reject it now."""
        self.delete(info.key)
        self._infos[info.key] = info
        self._plugins[info.key] = info.rejector_plugins
        for plugin in info.rejector_plugins:
            self._keys_by_plugin.setdefault(plugin, {})[info.key] = None
        if info.pod_info.terms.required_affinity:
            self._affinity_terms[info.key] = info.pod_info.terms.required_affinity

    def delete(self, key: str) -> QueuedPodInfo | None:
        info = self._infos.pop(key, None)
        if info is not None:
            self._affinity_terms.pop(key, None)
            for plugin in self._plugins.pop(key):
                keys = self._keys_by_plugin[plugin]
                del keys[key]
                if not keys:
                    del self._keys_by_plugin[plugin]
        return info

    def rejected_by(self, plugins: Iterable[str]) -> list[QueuedPodInfo]:
        """The pods that at least one of the plugins rejected, each once."""
        keys: dict[str, None] = {}
        for plugin in plugins:
            keys.update(self._keys_by_plugin.get(plugin, {}))
        return [self._infos[key] for key in keys]

    def concerned_by_assigned_pod(
        self, pod: Pod, namespace_labels: Mapping[str, str]
    ) -> list[QueuedPodInfo]:
        """The pods that may fit because `pod` has a node now.

        A running pod frees no resources. It can only help pods with affinity to it, and pods of its
        namespace that PodTopologySpread rejected.
        """
        namespace = pod.metadata.namespace
        keys = {
            key: None
            for key in self._keys_by_plugin.get(_POD_TOPOLOGY_SPREAD, ())
            if self._infos[key].pod.metadata.namespace == namespace
        }
        for key, terms in self._affinity_terms.items():
            if any(term.matches(pod, namespace_labels) for term in terms):
                keys[key] = None
        return [self._infos[key] for key in keys]

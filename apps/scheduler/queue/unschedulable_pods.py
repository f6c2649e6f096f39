"""The pods that were rejected, or that a PreEnqueue plugin gates, and wait for an event."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import TypeVar

from apps.scheduler.framework.interface import AwaitedObject
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo

_Index = TypeVar("_Index", bound=Hashable)


class UnschedulablePods:
    """Pods by key and by rejecting plugin, so that an event costs only for those it may help."""

    def __init__(
        self, find_awaited: Callable[[QueuedPodInfo], frozenset[AwaitedObject] | None]
    ) -> None:
        """``find_awaited``: the only objects whose events may help a pod; None for any event."""
        self._find_awaited = find_awaited
        self._infos: dict[str, QueuedPodInfo] = {}
        #: plugin -> keys of the pods it rejected (a dict for its order)
        self._keys_by_plugin: dict[str, dict[str, None]] = {}
        #: key -> the plugins under which the pod is listed
        self._plugins: dict[str, frozenset[str]] = {}
        #: object -> keys of the pods that wait for such objects alone, and are not listed by plugin
        self._keys_by_awaited: dict[AwaitedObject, dict[str, None]] = {}
        #: key -> the objects under which the pod is listed
        self._awaited: dict[str, frozenset[AwaitedObject]] = {}

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
        awaited = self._find_awaited(info)
        self._plugins[info.key] = info.rejector_plugins if awaited is None else frozenset()
        self._awaited[info.key] = awaited or frozenset()
        for plugin in self._plugins[info.key]:
            self._keys_by_plugin.setdefault(plugin, {})[info.key] = None
        for each in self._awaited[info.key]:
            self._keys_by_awaited.setdefault(each, {})[info.key] = None

    def delete(self, key: str) -> QueuedPodInfo | None:
        info = self._infos.pop(key, None)
        if info is not None:
            _remove(self._keys_by_plugin, self._plugins.pop(key), key)
            _remove(self._keys_by_awaited, self._awaited.pop(key), key)
        return info

    def rejected_by(
        self, plugins: Collection[str], concerned: AwaitedObject | None = None
    ) -> list[QueuedPodInfo]:
        """The pods that at least one of the plugins rejected, each once.

        Of those that only wait for certain objects, the ones that wait for ``concerned``.
        """
        keys: dict[str, None] = {}
        for plugin in plugins:
            keys.update(self._keys_by_plugin.get(plugin, {}))
        if concerned in self._keys_by_awaited:
            awaiting = self._keys_by_awaited[concerned]
            keys |= {k: None for k in awaiting if self._infos[k].rejector_plugins & {*plugins}}
        return [self._infos[key] for key in keys]


def _remove(keys_by: dict[_Index, dict[str, None]], listed: Iterable[_Index], key: str) -> None:
    """Remove a pod's key from the lists under which it is."""
    for each in listed:
        keys = keys_by[each]
        del keys[key]
        if not keys:
            del keys_by[each]

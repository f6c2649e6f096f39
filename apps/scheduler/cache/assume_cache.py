"""Objects as the scheduler has decided that they will be, before the cluster says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from apps.scheduler.cache.change_log import ChangeLog, LogReader
from apps.scheduler.cache.lister import Lister
from apps.scheduler.objects import KubeObject

T = TypeVar("T", bound=KubeObject)


@dataclass(frozen=True, slots=True)
class _Assumption(Generic[T]):
    #: the object in the list when it was assumed
    base: T | None
    item: T


class AssumeCache(Generic[T]):
    """A list seen with the changes that were decided but are not known to be written yet.

    An assumption ends when it is restored, or when the list gets any newer version of the object:
    what the cluster says counts more.
    """

    def __init__(self, lister: Lister[T]) -> None:
        self._lister = lister
        self._changes = LogReader(lister.log)
        self._assumed: dict[tuple[str, str], _Assumption[T]] = {}
        #: (namespace, name) of every object that was assumed or restored
        self.log: ChangeLog[tuple[str, str]] = ChangeLog()

    def get(self, name: str, namespace: str = "") -> T | None:
        known = self._lister.get(name, namespace)
        assumption = self._assumed.get((namespace, name))
        if assumption is None or assumption.base is not known:
            return known
        return assumption.item

    def assume(self, item: T) -> None:
        """Let ``get`` give ``item`` in place of the version that the list has now."""
        self._drop_superseded()
        key = (item.metadata.namespace, item.metadata.name)
        base = self._lister.get(item.metadata.name, item.metadata.namespace)
        self._assumed[key] = _Assumption(base, item)
        self.log.append(key)

    def restore(self, item: T) -> None:
        """Take ``assume(item)`` back; nothing happens if it does not hold any more."""
        key = (item.metadata.namespace, item.metadata.name)
        assumption = self._assumed.get(key)
        if assumption is not None and assumption.item is item:
            del self._assumed[key]
            self.log.append(key)

    def _drop_superseded(self) -> None:
        changed = self._changes.news()
        for key in list(self._assumed) if changed is None else changed:
            assumption = self._assumed.get(key)
            if assumption is not None and assumption.base is not self._lister.get(key[1], key[0]):
                del self._assumed[key]

"""Objects with the changes that the scheduler decided but that are not written yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from apps.scheduler.cache.change_log import ChangeLog, LogReader
from apps.scheduler.cache.lister import Lister
from apps.scheduler.objects import KubeObject

T = TypeVar("T", bound=KubeObject)


@dataclass(frozen=True, slots=True)
class _Assumption(Generic[T]):
    #: the object in the lister when it was assumed
    base: T | None
    item: T


class AssumeCache(Generic[T]):
    """A lister's objects, with assumed versions in place of the listed ones.

    An assumption ends when it is restored, or when the lister gets a newer version of the object.
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
        """Return ``item`` from ``get`` in place of the version that is listed now."""
        self._drop_superseded()
        key = (item.metadata.namespace, item.metadata.name)
        base = self._lister.get(item.metadata.name, item.metadata.namespace)
        self._assumed[key] = _Assumption(base, item)
        self.log.append(key)

    def restore(self, item: T) -> None:
        """Undo ``assume(item)``; no effect if the assumption has ended."""
        key = (item.metadata.namespace, item.metadata.name)
        assumption = self._assumed.get(key)
        if assumption is not None and assumption.item is item:
            del self._assumed[key]
            self.log.append(key)

    def assumptions(self) -> list[T]:
        """The assumed versions that are in place of listed ones."""
        self._drop_superseded()
        return [each.item for each in self._assumed.values()]

    def _drop_superseded(self) -> None:
        changed = self._changes.news()
        for key in list(self._assumed) if changed is None else changed:
            assumption = self._assumed.get(key)
            if assumption is not None and assumption.base is not self._lister.get(key[1], key[0]):
                del self._assumed[key]

"""The objects of one kind that plugins read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from apps.scheduler.cache.change_log import ChangeLog
from apps.scheduler.objects import KubeObject

T = TypeVar("T", bound=KubeObject)


class Lister(Generic[T]):
    """The objects of one kind by key: ``namespace/name``, or the name if cluster-scoped."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, T]] = {}
        self._count = 0
        #: (namespace, name) of every object that was stored or removed
        self.log: ChangeLog[tuple[str, str]] = ChangeLog()

    @property
    def version(self) -> int:
        """Increases with every change; values computed from the objects are valid until then."""
        return self.log.position

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._objects.get(namespace, {}).get(name)

    def in_namespace(self, namespace: str) -> Iterator[T]:
        return iter(self._objects.get(namespace, {}).values())

    def __iter__(self) -> Iterator[T]:
        for objects in self._objects.values():
            yield from objects.values()

    def __len__(self) -> int:
        return self._count

    def put(self, item: T) -> None:
        meta = item.metadata
        objects = self._objects.setdefault(meta.namespace, {})
        self._count += meta.name not in objects
        objects[meta.name] = item
        self.log.append((meta.namespace, meta.name))

    def remove(self, item: T) -> None:
        meta = item.metadata
        objects = self._objects.get(meta.namespace, {})
        if objects.pop(meta.name, None) is not None:
            self._count -= 1
            self.log.append((meta.namespace, meta.name))
        if not objects:
            self._objects.pop(meta.namespace, None)

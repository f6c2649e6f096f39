"""ResourceQuotas of a cluster in memory: the rules of the store, without its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.cluster.quota.charging import QUOTA, Charges
from apps.cluster.usage import countable, covered_resources

Body = dict[str, Any]
#: (namespace, name) -> object
Objects = Mapping[tuple[str, str], Body]


class MemoryCharges(Charges):
    """The quotas that one write is charged to."""

    def __init__(self, cluster: Cluster, objects: Mapping[str, Objects]) -> None:
        """`objects` are the cluster's before the write, by kind."""
        super().__init__(cluster)
        self._objects = objects
        for (namespace, name), quota in objects.get(QUOTA.key, {}).items():
            self.watch((QUOTA.key, namespace, name), quota)

    def _read_objects(self, namespace: str, hard: Iterable[str]) -> Iterator[tuple[Kind, Body]]:
        for kind in kinds.ALL:
            if not countable(kind) or not covered_resources(kind, hard):
                continue
            for (own, _), body in self._objects.get(kind.key, {}).items():
                if own == namespace:
                    yield kind, body


def charges_for(
    cluster: Cluster, objects: Mapping[str, Objects], kind: Kind
) -> MemoryCharges | None:
    """The quotas for a write of an object of a kind; None if no quota counts it."""
    if not countable(kind) or not (objects.get(QUOTA.key) or kind is QUOTA):
        return None
    return MemoryCharges(cluster, objects)

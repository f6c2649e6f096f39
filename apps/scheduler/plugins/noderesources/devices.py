"""Extended resources that a DeviceClass backs: nodes without them may have devices instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apps.scheduler.cache.listers import Listers
from apps.scheduler.features import FeatureGates
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.plugins.helper.device_classes import ClassResolver
from apps.scheduler.plugins.helper.device_rows import shared_rows
from apps.scheduler.plugins.helper.device_totals import device_totals


class BackedResources:
    def __init__(self, listers: Listers, gates: FeatureGates) -> None:
        self._listers = listers
        self._classes = ClassResolver(listers, gates)
        self._rows = shared_rows(lists=gates.enabled("DRAListTypeAttributes"))

    def among(self, resources: Iterable[str]) -> frozenset[str]:
        """Those of the resources that a class backs."""
        if not len(self._listers.device_classes):
            return frozenset()
        return frozenset(name for name in resources if self._classes.backing(name) is not None)

    def totals_on(
        self, nodes: NodeColumns, backed: frozenset[str]
    ) -> Callable[[str], Int64Array | None]:
        """Resource -> its `totals`, None for one that is not among ``backed``."""
        return lambda name: self.totals(name, nodes) if name in backed else None

    def totals(self, resource: str, nodes: NodeColumns) -> Int64Array | None:
        """(2, n) int64: the devices behind the resource, and those in use; None: no class."""
        device_class = self._classes.backing(resource)
        if device_class is None:
            return None
        return device_totals(self._listers, device_class, nodes, self._rows)

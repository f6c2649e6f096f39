"""Whether a volume can be provisioned for a claim, for all nodes at once."""

from __future__ import annotations

from typing import Final

import numpy as np

from apps import quantity
from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.node_columns import BoolArray, Int64Array, NodeColumns
from apps.scheduler.framework.status import StatusError, error
from apps.scheduler.labels import IN, SelectorError, from_label_selector
from apps.scheduler.objects import CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from apps.scheduler.plugins.helper.storage import class_of_claim
from apps.scheduler.plugins.volumebinding.topology import find_allowed, find_selected

#: the provisioner of classes without dynamic provisioning
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
#: the driver of a class does not track its capacity
NO_CAPACITY: Final = -1


class Provisioning:
    def __init__(self, listers: Listers) -> None:
        self._listers = listers

    def possible(self, claim: PersistentVolumeClaim, nodes: NodeColumns) -> BoolArray:
        """(n,) bool: nodes for which the claim's class can provision volumes."""
        storage_class = self._class_of(claim)
        if storage_class.provisioner in ("", NO_PROVISIONER):
            return np.zeros(len(nodes), dtype=np.bool_)
        return find_allowed(storage_class.allowed_topologies, nodes)

    def has_room(self, claim: PersistentVolumeClaim, nodes: NodeColumns) -> BoolArray:
        """(n,) bool: nodes with access to enough capacity, if the driver tracks it."""
        storage_class = self._class_of(claim)
        size = self._tracked_size(claim, storage_class)
        if size is None:
            return np.ones(len(nodes), dtype=np.bool_)
        return self._with_capacity(storage_class, size, nodes)

    def capacity_for(self, claim: PersistentVolumeClaim, nodes: NodeColumns) -> Int64Array:
        """(n,) int64 bytes: the capacity from which a volume would be provisioned.

        NO_CAPACITY where the driver does not track it. Of several capacities that a node has access
        to and that are large enough, the first by name counts; kube-scheduler takes any.
        """
        offers = np.full(len(nodes), NO_CAPACITY, dtype=np.int64)
        storage_class = self._class_of(claim)
        size = self._tracked_size(claim, storage_class)
        if size is None:
            return offers
        listed = self._listers.csi_storage_capacities
        for capacity in sorted(listed, key=lambda each: each.key):
            limit = volume_limit(capacity)
            if capacity.storage_class_name != storage_class.metadata.name:
                continue
            if limit is None or limit < size:
                continue
            try:
                selector = from_label_selector(capacity.node_topology)
            except SelectorError:
                continue
            offered = 0 if capacity.capacity is None else quantity.value(capacity.capacity)
            offers[(offers == NO_CAPACITY) & find_selected(selector, nodes)] = offered
        return offers

    def _tracked_size(
        self, claim: PersistentVolumeClaim, storage_class: StorageClass
    ) -> int | None:
        """The bytes of the claim; None if it has no size or the driver tracks no capacity."""
        size = claim.spec.resources.requests.get("storage")
        driver = self._listers.csi_drivers.get(storage_class.provisioner)
        if size is None or driver is None or not driver.spec.storage_capacity:
            return None
        return quantity.value(size)

    def _with_capacity(
        self, storage_class: StorageClass, size: int, nodes: NodeColumns
    ) -> BoolArray:
        """(n,) bool: nodes that some capacity of at least ``size`` bytes is for."""
        has_capacity = np.zeros(len(nodes), dtype=np.bool_)
        by_label: dict[str, list[str]] = {}
        for capacity in self._listers.csi_storage_capacities:
            if capacity.storage_class_name != storage_class.metadata.name:
                continue
            limit = volume_limit(capacity)
            if limit is None or limit < size:
                continue
            try:
                selector = from_label_selector(capacity.node_topology)
            except SelectorError:
                continue
            asked = selector.requirements
            if len(asked) == 1 and asked[0].operator == IN:
                by_label.setdefault(asked[0].key, []).extend(asked[0].values)
            else:
                has_capacity |= find_selected(selector, nodes)
        for key, values in by_label.items():
            has_capacity |= nodes.label(key).is_any_of(values)
        return has_capacity

    def _class_of(self, claim: PersistentVolumeClaim) -> StorageClass:
        name = class_of_claim(claim)
        storage_class = self._listers.storage_classes.get(name)
        if storage_class is None:
            raise StatusError(error(f'failed to find storage class "{name}"'))
        return storage_class


def volume_limit(capacity: CSIStorageCapacity) -> int | None:
    """The bytes that one new volume can have at most; None = unknown."""
    limit = capacity.maximum_volume_size
    if limit is None:
        limit = capacity.capacity
    return None if limit is None else quantity.value(limit)

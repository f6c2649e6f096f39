"""How many devices of a class each node can reach, and how many of them are in use.

As in kube-scheduler this is for scores alone: outdated, incomplete and invalid pools count, too,
and a device about which a selector fails counts as none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.cel.selector import CompileProblem
from apps.scheduler.cache.devices_in_use import Allocated
from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.node_columns import BoolArray, Int64Array, NodeColumns
from apps.scheduler.objects import Device, DeviceClass, NodeSelector, ResourceSlice
from apps.scheduler.plugins.helper.device_rows import DeviceRows
from apps.scheduler.plugins.helper.node_selection import matches_selector


def device_totals(
    listers: Listers, device_class: DeviceClass, nodes: NodeColumns, rows: DeviceRows
) -> Int64Array:
    """(2, n) int64: the devices of each node, and those in use. ``rows`` answers selectors."""
    allocated = listers.device_claims.allocated()
    totals = np.zeros((2, len(nodes)), dtype=np.int64)
    for each in listers.resource_slices:
        members = [
            device
            for device in each.spec.devices
            if _is_of_class(device, each.spec.driver, device_class, rows)
        ]
        _add(totals, each, members, allocated, nodes)
    return totals


def _add(
    totals: Int64Array,
    each: ResourceSlice,
    members: Sequence[Device],
    allocated: Allocated,
    nodes: NodeColumns,
) -> None:
    spec = each.spec
    per_device = bool(spec.per_device_node_selection)
    reached = _rows(spec.node_name, spec.all_nodes, spec.node_selector, nodes)
    for device in members:
        rows = reached
        if per_device:
            rows = _rows(device.node_name, device.all_nodes, device.node_selector, nodes)
        totals[0][rows] += 1
        totals[1][rows] += allocated.uses((spec.driver, spec.pool.name, device.name))


def _rows(
    node_name: str | None,
    all_nodes: bool | None,
    selector: NodeSelector | None,
    nodes: NodeColumns,
) -> BoolArray:
    rows = np.zeros(len(nodes), dtype=np.bool_)
    if node_name:
        row = nodes.row_of(node_name)
        rows[[row] if row >= 0 else []] = True
    elif all_nodes:
        rows[:] = True
    elif selector is not None:
        rows = matches_selector(selector, nodes)
    return rows


def _is_of_class(device: Device, driver: str, device_class: DeviceClass, rows: DeviceRows) -> bool:
    for selector in device_class.spec.selectors:
        if selector.cel is None:
            continue
        try:
            answer = rows.ask(selector.cel.expression, driver, device)
        except CompileProblem:
            return False
        if answer is not True:
            return False
    return True

"""The data of CSINode objects as columns of nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.cache.lister import Lister
from apps.scheduler.framework.node_columns import BoolArray, Int64Array, NodeColumns
from apps.scheduler.objects import CSINode
from apps.scheduler.plugins.helper.csi_migration import MigratedPlugin

NO_LIMIT = -1


def attach_limit(driver: str, csi_node: CSINode | None) -> int:
    """How many volumes of the driver the node can attach; NO_LIMIT if it has no limit."""
    for entry in csi_node.spec.drivers if csi_node is not None else ():
        if entry.name == driver and entry.allocatable is not None:
            return NO_LIMIT if entry.allocatable.count is None else entry.allocatable.count
    return NO_LIMIT


def attach_limits(driver: str, nodes: NodeColumns, csi_nodes: Lister[CSINode]) -> Int64Array:
    """(n,) int64: ``attach_limit`` of every node."""

    def limit(csi_node: CSINode | None) -> int:
        return attach_limit(driver, csi_node)

    return _compute_column(("attach limits", driver), limit, np.int64, nodes, csi_nodes)


def find_installed(driver: str, nodes: NodeColumns, csi_nodes: Lister[CSINode]) -> BoolArray:
    """(n,) bool: nodes on which the driver is installed."""

    def is_installed(csi_node: CSINode | None) -> bool:
        return csi_node is not None and any(each.name == driver for each in csi_node.spec.drivers)

    return _compute_column(("installed", driver), is_installed, np.bool_, nodes, csi_nodes)


def find_with_csi_node(nodes: NodeColumns, csi_nodes: Lister[CSINode]) -> BoolArray:
    """(n,) bool: nodes that have a CSINode."""

    def has_one(csi_node: CSINode | None) -> bool:
        return csi_node is not None

    return _compute_column(("any", ""), has_one, np.bool_, nodes, csi_nodes)


def find_migrated_nodes(
    plugin: MigratedPlugin, nodes: NodeColumns, csi_nodes: Lister[CSINode]
) -> BoolArray:
    """(n,) bool: nodes whose CSINode lists the plugin as migrated to its CSI driver."""
    return _compute_column(
        ("migrated", plugin.name), plugin.is_migrated_on, np.bool_, nodes, csi_nodes
    )


def _compute_column(
    name: tuple[str, str],
    ask: Callable[[CSINode | None], Any],
    dtype: Any,
    nodes: NodeColumns,
    csi_nodes: Lister[CSINode],
) -> NDArray[Any]:
    def compute(table: NodeColumns) -> NDArray[Any]:
        column = np.full(len(table), ask(None), dtype=dtype)
        for row in np.flatnonzero(table.alive).tolist():
            column[row] = ask(csi_nodes.get(table.info(row).name))
        return column

    return nodes.memo(("CSINode", name, csi_nodes.version), compute, depends="node")

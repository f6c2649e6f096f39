"""Which device a pod could use, and why not the others: its claims against the devices of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from apps.scheduler.explaining.evaluation import Evaluation
from apps.scheduler.plugins.dynamicresources.matrix import DeviceCell, NodeDevices, RequestRow
from apps.scheduler.plugins.dynamicresources.plugin import DynamicResources

#: the most nodes whose devices are compared
MOST_NODES: Final = 100
#: the most devices that are listed, for all requests together
MOST_CELLS: Final = 400


@dataclass(frozen=True, slots=True)
class RequestDevices:
    """One request, and what says no to the devices of the compared nodes."""

    claim: str
    #: `request`, or `request/alternative`
    request: str
    device_class: str
    #: None for all devices
    count: int | None
    #: the devices of the compared nodes
    devices: int
    #: devices that are usable by themselves
    usable: int
    #: kind of obstacle -> number of devices; a device may have several
    obstacles: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DeviceMatrix:
    """The requests of claims that are to be allocated, each with the devices of nodes."""

    requests: tuple[RequestDevices, ...] = ()
    #: usable devices first; at most 400
    cells: tuple[DeviceCell, ...] = ()
    #: the nodes whose devices were compared
    nodes: int = 0
    #: those that could have been
    all_nodes: int = 0

    ANSWER: ClassVar = (..., "is_complete")

    @property
    def is_complete(self) -> bool:
        """Whether every device of every node is listed."""
        listed = len({(cell.claim, cell.request) for cell in self.cells}) <= len(self.requests)
        devices = sum(each.devices for each in self.requests)
        shown = sum(bool(cell.device) for cell in self.cells)
        return listed and self.nodes == self.all_nodes and shown == devices


def compare_devices(evaluation: Evaluation, row: int | None = None) -> DeviceMatrix:
    """The devices of one node, or of all nodes, with the requests of the pod's claims."""
    plugin = evaluation.framework.plugins.get(DynamicResources.name)
    if not isinstance(plugin, DynamicResources) or not evaluation.outcome.is_success:
        return DeviceMatrix()
    rows = np.flatnonzero(evaluation.snapshot.alive) if row is None else [row]
    named = sorted((evaluation.snapshot.names[int(each)], int(each)) for each in rows)
    devices: list[NodeDevices] = []
    with_devices = 0
    for _, each in named:
        if with_devices == MOST_NODES:
            break
        node = evaluation.snapshot.info(each).node
        if node is not None:
            compared = plugin.compare_devices(evaluation.state, evaluation.pod, node)
            with_devices += bool(compared.cells)
            devices.append(compared)
    return _combine(devices, len(named))


def _combine(compared: Sequence[NodeDevices], nodes: int) -> DeviceMatrix:
    cells = [cell for each in compared for cell in each.cells]
    rows: dict[tuple[str, str], list[RequestRow]] = {}
    for each in compared:
        for row in each.rows:
            rows.setdefault((row.claim, row.request), []).append(row)
    requests = tuple(
        RequestDevices(
            *key,
            of_nodes[0].device_class,
            of_nodes[0].count,
            sum(row.devices for row in of_nodes),
            sum(row.usable for row in of_nodes),
            _count_obstacles(cell for cell in cells if (cell.claim, cell.request) == key),
        )
        for key, of_nodes in rows.items()
    )
    ordered = sorted(cells, key=lambda cell: (cell.claim, cell.request, len(cell.obstacles)))
    return DeviceMatrix(requests, tuple(ordered[:MOST_CELLS]), len(compared), nodes)


def _count_obstacles(cells: Iterable[DeviceCell]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for cell in cells:
        counts.update({each.kind.value for each in cell.obstacles})
    return dict(counts.most_common())

"""What distinguishes nodes in a search for devices, as numbers.

Nodes whose pools are equal but for names, and whose devices in use are the same ones by position,
have the same number: a search for any of them finds the same positions. Only a node that has all
its pools for itself has a number.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from apps.scheduler.cache.change_log import ChangeLog, LogReader
from apps.scheduler.cache.devices_in_use import Allocated, DeviceId, PoolId
from apps.scheduler.cache.interning import Interner
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.plugins.dynamicresources.pools import Pool, Slices

#: the number of a node that needs a search of its own
ALONE: Final = -1
#: after so many numbers they are given anew
_MOST_STATES: Final = 65_536


@dataclass(frozen=True, slots=True)
class _OwnPools:
    """The pools of a node that has them for itself."""

    pools: Sequence[Pool]
    #: the number of their content without names
    content: int
    devices: Sequence[DeviceId]


class NodeStates:
    """The numbers by row of the snapshot, brought up to date for pools whose use has changed."""

    def __init__(self, pools_log: ChangeLog[PoolId]) -> None:
        """``pools_log``: see ``DeviceClaims``."""
        self._changes = LogReader(pools_log)
        self._slices: Slices | None = None
        self._node_version = -1
        self._contents: Interner[bytes] = Interner()
        self._states: Interner[Hashable] = Interner()
        #: increases when numbers get another meaning
        self.epoch = 0
        self._own: dict[str, _OwnPools] = {}
        self._rows: dict[str, int] = {}
        self._owners: dict[PoolId, str] = {}
        self._numbers: Int64Array = np.empty(0, dtype=np.int64)

    def update(self, snapshot: Snapshot, slices: Slices, allocated: Allocated) -> None:
        """Compute what changed since the last call."""
        changed = self._changes.news()
        if len(self._states) > _MOST_STATES:
            self._contents, self._states = Interner(), Interner()
            self._slices, self.epoch = None, self.epoch + 1
        is_valid = self._slices is slices and self._node_version == snapshot.node_version
        if changed is None or not is_valid:
            self._start(snapshot, slices, allocated)
            self._slices, self._node_version = slices, snapshot.node_version
            return
        for name in {self._owners[pool] for pool in changed if pool in self._owners}:
            self._numbers[self._rows[name]] = self._number(self._own[name], allocated)

    def at(self, rows: Int64Array) -> Int64Array:
        """The numbers of rows of the snapshot; ``ALONE`` where a search of its own is needed."""
        return self._numbers.take(rows)

    def number_of(self, node_name: str) -> int:
        """The number of a node with devices; ``ALONE`` for others."""
        row = self._rows.get(node_name)
        return ALONE if row is None else int(self._numbers[row])

    def pools(self, node_name: str) -> Sequence[Pool]:
        """The pools of a node that has a number."""
        own = self._own.get(node_name)
        return own.pools if own is not None else ()

    def _start(self, snapshot: Snapshot, slices: Slices, allocated: Allocated) -> None:
        self._own.clear()
        self._owners.clear()
        self._rows.clear()
        self._numbers = np.full(len(snapshot), ALONE, dtype=np.int64)
        if slices.has_unusable_pools:
            return
        nothing = self._states.id(None)
        for row in np.flatnonzero(snapshot.alive).tolist():
            node = snapshot.info(row).node
            assert node is not None
            pools = slices.own_pools(node)
            if pools is None:
                continue
            if pools:
                own = _OwnPools(pools, self._contents.id(_content(pools)), list(_devices(pools)))
                self._own[node.metadata.name], self._rows[node.metadata.name] = own, row
                self._owners |= {(each.driver, each.name): node.metadata.name for each in pools}
                self._numbers[row] = self._number(own, allocated)
            else:
                self._numbers[row] = nothing

    def _number(self, own: _OwnPools, allocated: Allocated) -> int:
        used = tuple(
            (place, *_use(device, allocated))
            for place, device in enumerate(own.devices)
            if allocated.uses(device)
        )
        return self._states.id((own.content, used))


def _devices(pools: Iterable[Pool]) -> Iterator[DeviceId]:
    for pool in pools:
        for each in pool.slices:
            for device in each.spec.devices:
                yield (pool.driver, pool.name, device.name)


def _use(device: DeviceId, allocated: Allocated) -> tuple[Hashable, ...]:
    """How a device is used, as far as a search looks at it."""
    consumed: Mapping[str, int] | None = allocated.capacity.get(device)
    return (
        device in allocated.devices,
        device in allocated.shared,
        None if consumed is None else frozenset(consumed.items()),
    )


def _content(pools: Iterable[Pool]) -> bytes:
    """All that a search reads of the pools but names of pools, slices and devices."""
    content = [
        (
            pool.driver,
            [[msgspec.structs.replace(d, name="") for d in s.spec.devices] for s in pool.slices],
            pool.counters,
        )
        for pool in pools
    ]
    return msgspec.json.encode(content, order="sorted")

"""Which rows use which volumes; sparse, since few pods have any."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

import numpy as np

from apps.scheduler.cache.change_log import ChangeLog
from apps.scheduler.framework.mounts import Mount
from apps.scheduler.framework.node_columns import BoolArray
from apps.scheduler.framework.types import PodInfo

_NOWHERE: Mapping[int, int] = MappingProxyType({})


class MountIndex:
    def __init__(self, log: ChangeLog[tuple[Mount, int]] | None = None) -> None:
        #: mount -> row -> number of pods there that have it, never 0
        self._rows: dict[Mount, dict[int, int]] = {}
        #: (mount, row) pairs that became used or unused
        self.log: ChangeLog[tuple[Mount, int]] = ChangeLog() if log is None else log

    def __iter__(self) -> Iterator[tuple[Mount, Mapping[int, int]]]:
        """Every mount in use, with the number of its pods on each row."""
        return iter(self._rows.items())

    def change(self, pod: PodInfo, row: int, sign: int) -> None:
        """``pod`` was added to (+1) or removed from (-1) ``row``."""
        for mount in pod.mounts:
            rows = self._rows.setdefault(mount, {})
            number = rows.get(row, 0) + sign
            if number:
                rows[row] = number
            else:
                del rows[row]
                if not rows:
                    del self._rows[mount]
            if number == max(sign, 0):
                self.log.append((mount, row))

    def rows(self, mount: Mount) -> Mapping[int, int]:
        """Row -> number of pods there that have this mount."""
        return self._rows.get(mount, _NOWHERE)

    def mounted(self, mounts: Collection[Mount], rows: int) -> BoolArray:
        """(rows,) bool: where any of these is in use."""
        used = np.zeros(rows, dtype=np.bool_)
        for mount in mounts:
            used[list(self.rows(mount))] = True
        return used

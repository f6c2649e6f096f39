"""Which rows use which host ports; sparse, since few pods have any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from apps.scheduler.framework.node_columns import BoolArray
from apps.scheduler.framework.types import HostPort


class PortIndex:
    def __init__(self) -> None:
        #: (protocol, port) -> row -> host IPs in use
        self._users: dict[tuple[str, int], dict[int, frozenset[str]]] = {}
        #: row -> the ports that its pods use
        self.rows: dict[int, list[tuple[str, int]]] = {}

    def replace(self, row: int, used: Mapping[tuple[str, int], set[str]]) -> None:
        """``used`` are the host ports that the row's pods use now."""
        for key in self.rows.pop(row, ()):
            users = self._users[key]
            del users[row]
            if not users:
                del self._users[key]
        if used:
            self.rows[row] = list(used)
            for key, ips in used.items():
                self._users.setdefault(key, {})[row] = frozenset(ips)

    def conflicts(self, wanted: Sequence[HostPort], rows: int) -> BoolArray:
        """(rows,) bool: where any of the wanted ports is in use."""
        taken = np.zeros(rows, dtype=np.bool_)
        for port in wanted:
            for row, ips in self._users.get(port.key, {}).items():
                if any(port.conflicts_with(ip) for ip in ips):
                    taken[row] = True
        return taken

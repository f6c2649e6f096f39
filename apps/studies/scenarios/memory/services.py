"""Addresses and node ports of services of a cluster in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network
from random import Random
from typing import Any

from apps.cluster.allocation.held import Held, ipv4_networks
from apps.cluster.allocation.services import Allocations
from apps.cluster.models import Cluster

Body = Mapping[str, Any]


class MemoryAllocations(Allocations):
    """The allocations of one write, drawn so that a run can be repeated."""

    def __init__(
        self, cluster: Cluster, services: Iterable[Body], ranges: Iterable[Body], draw: Random
    ) -> None:
        """`services` and `ranges`, the ServiceCIDRs, are the cluster's before the write."""
        super().__init__(cluster, checks_range=False, draw=draw.randrange)
        self._services, self._ranges = services, ranges

    def _read_held(self) -> Held:
        held = Held()
        for service in self._services:
            held.add(service.get("spec") or {})
        return held

    def _read_added_networks(self) -> list[IPv4Network]:
        return list(ipv4_networks(cidr for each in self._ranges for cidr in each["spec"]["cidrs"]))

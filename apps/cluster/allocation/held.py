"""The addresses and node ports that services hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any

from django.db import connection

from apps.cluster import sql
from apps.cluster.models import Cluster
from apps.cluster.validation.addresses import read_address

Spec = Mapping[str, Any]


class HeldAddresses:
    """How many services hold each address and each node port.

    More than one service may hold a value that was stored before values were unique.
    """

    def __init__(self) -> None:
        self.addresses: Counter[str] = Counter()
        self.ports: Counter[int] = Counter()

    def add(self, spec: Spec) -> None:
        """Count what a service holds."""
        self.addresses.update(normalize(addresses_of(spec)))
        self.ports.update(set(ports_of(spec)))

    def remove(self, spec: Spec) -> None:
        """What a service held is free again."""
        self.addresses.subtract(normalize(addresses_of(spec)))
        self.ports.subtract(set(ports_of(spec)))


def addresses_of(spec: Spec) -> list[str]:
    """The addresses in a service's spec; none of a service without endpoints of its own."""
    given = spec.get("clusterIPs") or [spec.get("clusterIP") or "None"]
    return [address for address in given if address != "None"]


def normalize(addresses: Iterable[str]) -> Iterator[str]:
    """The addresses in canonical form; what is no address is left out."""
    for text in addresses:
        address = read_address(text)
        if address is not None:
            yield str(address)


def ports_of(spec: Spec) -> Iterator[int]:
    """The node ports in a service's spec."""
    for port in spec.get("ports") or ():
        if port.get("nodePort"):
            yield port["nodePort"]
    if spec.get("healthCheckNodePort"):
        yield spec["healthCheckNodePort"]


def read_held(cluster: Cluster) -> HeldAddresses:
    """What the services of a cluster hold now."""
    held = HeldAddresses()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT jsonb_build_object('clusterIPs', body #> '{spec,clusterIPs}', 'ports', "
            "body #> '{spec,ports}', 'healthCheckNodePort', body #> '{spec,healthCheckNodePort}'"
            ")::text FROM cluster_service WHERE cluster_id = %s",
            [cluster.pk],
        )
        for (text,) in cursor.fetchall():
            held.add(sql.load_json(text))
    return held


def read_added_networks(cluster: Cluster) -> list[IPv4Network]:
    """The IPv4 networks of the cluster's ServiceCIDR objects."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (body #> '{spec,cidrs}')::text FROM cluster_dataobject "
            "WHERE cluster_id = %s AND kind = 'ServiceCIDR'",
            [cluster.pk],
        )
        texts = [cidr for (text,) in cursor.fetchall() for cidr in sql.load_json(text)]
    return list(ipv4_networks(texts))


def ipv4_networks(texts: Iterable[str]) -> Iterator[IPv4Network]:
    """The IPv4 networks among these CIDRs."""
    for text in texts:
        try:
            yield IPv4Network(text, strict=False)
        except ValueError:
            # of IPv6
            continue

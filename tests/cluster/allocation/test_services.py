"""Addresses and node ports of services: each is held by one service of the cluster."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from django.db import connection

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds, queries
from apps.cluster.allocation.ranges import NODE_PORTS, draw_address, draw_port
from apps.cluster.errors import AlreadyExists, ApiError, Invalid
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Create, Delete, Write
from apps.cluster.writing import store

Body = dict[str, Any]
SERVICE = kinds.by_name("Service")
CLIENT = Actor("alice", manager="kubectl")
SITE = Actor("alice", manager="schedweb")
TAKEN_PORT = "provided port is already allocated"

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(db: None) -> Cluster:
    return create_cluster("c1", user="alice", paused=True)


def service(name: str, *node_ports: int, **spec: Any) -> Body:
    """A service with a port for each node port; 0 is to be allocated."""
    ports: list[Body] = [
        {"name": f"p{n}", "port": n} | ({"nodePort": number} if number else {})
        for n, number in enumerate(node_ports or (0,), start=80)
    ]
    kind = "NodePort" if node_ports else "ClusterIP"
    return {"metadata": {"name": name}, "spec": {"type": kind, "ports": ports, **spec}}


def create(cluster: Cluster, body: Body, actor: Actor = CLIENT, **options: Any) -> Body:
    body = store.create(cluster, SERVICE, body, actor=actor, namespace="default", **options)
    return body["spec"]  # type: ignore[no-any-return]


def update(cluster: Cluster, name: str, **spec: Any) -> Body:
    def change(body: Body) -> Body:
        return {**body, "spec": {**body["spec"], **spec}}

    body = store.patch(cluster, SERVICE, "default", name, change, actor=CLIENT)
    return body["spec"]  # type: ignore[no-any-return]


def refused(cluster: Cluster, body: Body, **options: Any) -> str:
    with pytest.raises(Invalid) as refusal:
        create(cluster, body, **options)
    return refusal.value.message.partition(" is invalid: ")[2]


def test_a_service_gets_an_address_and_node_ports_of_its_own(cluster: Cluster) -> None:
    spec = create(cluster, service("a", *[0] * 10))
    assert ip_address(spec["clusterIP"]) in ip_network("10.96.0.0/12")
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    drawn = {port["nodePort"] for port in spec["ports"]}
    assert len(drawn) == 10 and drawn <= set(NODE_PORTS)
    # protocols of one port share the node port
    both = [
        {"name": name, "port": 53, "protocol": name.upper(), **more}
        for name, more in (("tcp", {}), ("udp", {"nodePort": 30053}))
    ]
    shared = create(cluster, service("dns", 0, ports=both))
    assert [port["nodePort"] for port in shared["ports"]] == [30053, 30053]
    balanced = create(cluster, service("lb", 0, type="LoadBalancer", externalTrafficPolicy="Local"))
    assert balanced["healthCheckNodePort"] in NODE_PORTS
    assert balanced["healthCheckNodePort"] != balanced["ports"][0]["nodePort"]
    without = create(
        cluster, service("no", 0, type="LoadBalancer", allocateLoadBalancerNodePorts=False)
    )
    assert "nodePort" not in without["ports"][0]


def test_what_another_service_holds_is_refused(cluster: Cluster) -> None:
    held = create(cluster, service("a", 30080, clusterIP="10.96.0.80"))
    assert refused(cluster, service("b", 0, 30080)) == (
        f"spec.ports[1].nodePort: Invalid value: 30080: {TAKEN_PORT}"
    )
    assert refused(cluster, service("b", clusterIP="10.96.0.80"), dry_run=True) == (
        'spec.clusterIPs: Invalid value: ["10.96.0.80"]: '
        "failed to allocate IP 10.96.0.80: provided IP is already allocated"
    )
    assert refused(cluster, service("b", clusterIP="10.96.0.1")).endswith("already allocated")
    # what it asks for is checked before its name, except for an import
    assert refused(cluster, service("a", clusterIP="10.96.0.80")).endswith("already allocated")
    assert refused(cluster, service("a", 30080)).endswith(TAKEN_PORT)
    for again, actor in ((service("a"), CLIENT), (service("a", 30080), SITE)):
        with pytest.raises(AlreadyExists):
            create(cluster, again, actor)
    # the protocol does not count, and neither who asks
    udp = [{"port": 80, "protocol": "UDP", "nodePort": 30080}]
    assert refused(cluster, service("b", 0, ports=udp), actor=SITE).endswith(TAKEN_PORT)
    check = service("b", 0, type="LoadBalancer", externalTrafficPolicy="Local")
    check["spec"]["healthCheckNodePort"] = 30080
    assert refused(cluster, check) == (
        f"spec.healthCheckNodePort: Invalid value: 30080: {TAKEN_PORT}"
    )
    with pytest.raises(ApiError):
        queries.get(cluster, SERVICE, "default", "b")

    # an update may keep what it has, and asks for new ones as a creation does
    assert update(cluster, "a", selector={"app": "a"})["clusterIP"] == held["clusterIP"]
    create(cluster, service("c", 30081))
    with pytest.raises(Invalid, match=f"30081: {TAKEN_PORT}"):
        update(cluster, "a", ports=[{"port": 80, "nodePort": 30081}])
    assert update(cluster, "a", type="ClusterIP")["ports"][0].get("nodePort") is None
    assert create(cluster, service("d", 30080))["ports"][0]["nodePort"] == 30080
    store.delete(cluster, SERVICE, "default", "c", actor=CLIENT)
    assert update(cluster, "a", type="NodePort", ports=[{"port": 80, "nodePort": 30081}])


def test_clients_may_ask_for_addresses_of_the_cluster_alone(cluster: Cluster) -> None:
    outside = "the provided network does not match the current range"
    message = 'spec.clusterIPs: Invalid value: ["{0}"]: failed to allocate IP {0}: {1}'
    for address in ("10.43.0.7", "10.96.0.0", "10.111.255.255"):
        body = service("a", clusterIP=address)
        assert refused(cluster, body) == message.format(address, outside)
    assert refused(cluster, service("a", clusterIP="fd00::1")) == (
        'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster'
    )
    assert refused(cluster, service("a", ipFamilyPolicy="RequireDualStack")) == (
        'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
        "this cluster is not configured for dual-stack services"
    )
    assert refused(cluster, service("a", ipFamilies=["IPv6"])) == (
        'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'
    )
    # another network, once the cluster has it; and services of other clusters
    cidr = {"metadata": {"name": "more"}, "spec": {"cidrs": ["10.43.0.0/16", "fd00::/108"]}}
    store.create(cluster, kinds.by_name("ServiceCIDR"), cidr, actor=CLIENT)
    assert create(cluster, service("a", clusterIP="10.43.0.7"))["clusterIPs"] == ["10.43.0.7"]
    both = {"clusterIPs": ["172.20.0.1", "fd01::1"], "ipFamilyPolicy": "PreferDualStack"}
    imported = create(cluster, service("k3s", **both), actor=SITE)
    assert imported["ipFamilies"] == ["IPv4", "IPv6"]
    assert update(cluster, "k3s", selector={"a": "b"})["clusterIPs"] == both["clusterIPs"]


def test_one_write_of_several_services_allocates_each_value_once(cluster: Cluster) -> None:
    """A value that a later service asks for is not drawn for an earlier one."""
    ports = [30000 + n for n in range(0, 2600)]
    many = [service(f"s{n}", *ports[n : n + 100]) for n in range(0, 2600, 100)]
    drawn = service("drawn", *[0] * 100)
    bodies = [drawn, *many, service("late", 30100)]
    outcomes = store.write(
        cluster,
        [Create(SERVICE, body, "default") for body in bodies],
        actor=CLIENT,
        collect_refusals=True,
    )
    assert [type(each) for each in outcomes] == [dict] * 27 + [Invalid]
    every = [p["nodePort"] for body in outcomes[:-1] for p in body["spec"]["ports"]]  # type: ignore[index]
    assert len(set(every)) == len(every) == 2700
    with pytest.raises(ApiError, match="failed to allocate a nodePort: range is full"):
        create(cluster, service("full", *[0] * 100))
    # a service that is deleted in the same write leaves its port to the next one
    again: list[Write] = [
        Delete(SERVICE, "default", "s100"),
        Create(SERVICE, service("next", 30100), "default"),
    ]
    assert len(store.write(cluster, again, actor=CLIENT)) == 2


@pytest.mark.django_db(transaction=True)
def test_concurrent_writes_never_share_a_value() -> None:
    cluster = create_cluster("busy", user="alice", paused=True)

    def create_some(writer: int) -> int:
        created = 0
        for number in range(6):
            body = service(f"s{writer}-{number}", 30010 + number, 0, clusterIP=f"10.96.0.1{number}")
            try:
                create(cluster, body)
                created += 1
            except Invalid as refusal:
                assert "already allocated" in refusal.message
        connection.close()
        return created

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(create_some, range(4))) == 6
    stored = [body["spec"] for body in SERVICE.objects(cluster).values_list("body", flat=True)]
    ports = [port["nodePort"] for spec in stored for port in spec["ports"] if "nodePort" in port]
    assert len(set(ports)) == len(ports) == 12
    assert len({spec["clusterIP"] for spec in stored}) == len(stored) == 7


def test_a_range_is_drawn_from_to_its_last_free_value() -> None:
    assert draw_port(lambda port: port != 30005) == 30005
    assert draw_port(lambda port: True) is None
    # values that users choose by hand are drawn last
    assert all((draw_port(lambda port: False) or 0) >= 30086 for _ in range(50))
    first = [draw_address(lambda address: False) or "" for _ in range(50)]
    assert all(not address.startswith("10.96.0.") for address in first)

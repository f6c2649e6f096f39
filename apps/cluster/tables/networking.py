"""Columns of services, their endpoints, and networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from apps.cluster.tables.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Body,
    Column,
    get,
    labels,
    path,
    selector,
)

#: Endpoints shown before "+ 5 more...".
_SHOWN: Final = 3


def _joined(texts: Sequence[str]) -> str:
    more = f" + {len(texts) - _SHOWN} more..." if len(texts) > _SHOWN else ""
    return ",".join(texts[:_SHOWN]) + more or NONE


def _endpoints(body: Body, now: datetime) -> str:
    texts = [
        f"{address.get('ip', '')}:{port['port']}" if port else address.get("ip", "")
        for subset in get(body, "subsets", default=[])
        for port in subset.get("ports") or [None]
        for address in subset.get("addresses") or []
    ]
    return _joined(texts)


def _slice_endpoints(body: Body, now: datetime) -> str:
    addresses = [each for one in get(body, "endpoints", default=[]) for each in one["addresses"]]
    return _joined(addresses) if addresses else UNSET


def _slice_ports(body: Body, now: datetime) -> str:
    ports = get(body, "ports", default=[])
    return _joined([str(port.get("port", "*")) for port in ports]) if ports else UNSET


def _hosts(ingress: Body, now: datetime) -> str:
    hosts = [rule["host"] for rule in get(ingress, "spec", "rules", default=[]) if "host" in rule]
    return _joined(hosts) if hosts else "*"


def _address(ingress: Body, now: datetime) -> str:
    addresses = get(ingress, "status", "loadBalancer", "ingress", default=[])
    return ",".join(each.get("ip") or each.get("hostname", "") for each in addresses)


def _parameters(ingress_class: Body, now: datetime) -> str:
    parameters = get(ingress_class, "spec", "parameters", default={})
    if not parameters:
        return NONE
    group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
    return f"{parameters['kind']}{group}/{parameters['name']}"


def _ports(service: Body, now: datetime) -> str:
    texts = []
    for port in get(service, "spec", "ports", default=[]):
        node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port['port']}{node_port}/{port.get('protocol', 'TCP')}")
    return ",".join(texts) or NONE


def _external_ip(service: Body, now: datetime) -> str:
    if get(service, "spec", "type") == "ExternalName":
        return str(get(service, "spec", "externalName"))
    ingress = get(service, "status", "loadBalancer", "ingress", default=[])
    addresses = [entry.get("ip") or entry.get("hostname", "") for entry in ingress]
    addresses += get(service, "spec", "externalIPs", default=[])
    waiting = get(service, "spec", "type") == "LoadBalancer"
    return ",".join(addresses) or ("<pending>" if waiting else NONE)


ENDPOINT_SLICES: Final = (
    NAME,
    Column("AddressType", path("addressType")),
    Column("Ports", _slice_ports),
    Column("Endpoints", _slice_endpoints),
    AGE,
)
ENDPOINTS: Final = (NAME, Column("Endpoints", _endpoints), AGE)
IP_ADDRESSES: Final = (
    NAME,
    Column(
        "ParentRef",
        lambda b, now: "/".join(
            str(get(b, "spec", "parentRef", field)) for field in ("resource", "namespace", "name")
        ),
    ),
    replace(AGE, is_described=False),
)
INGRESSES: Final = (
    NAME,
    Column("Class", path("spec", "ingressClassName", default=NONE)),
    Column("Hosts", _hosts),
    Column("Address", _address),
    Column("Ports", lambda b, now: "80, 443" if get(b, "spec", "tls") else "80"),
    AGE,
)
INGRESS_CLASSES: Final = (
    NAME,
    Column("Controller", path("spec", "controller")),
    Column("Parameters", _parameters),
    AGE,
)
NETWORK_POLICIES: Final = (
    NAME,
    Column("Pod-Selector", lambda b, now: selector(get(b, "spec", "podSelector", default={}))),
    AGE,
)
SERVICE_CIDRS: Final = (
    NAME,
    Column("CIDRs", lambda b, now: ",".join(get(b, "spec", "cidrs", default=[]))),
    AGE,
)
SERVICES: Final = (
    NAME,
    Column("Type", path("spec", "type", default="ClusterIP")),
    Column("Cluster-IP", path("spec", "clusterIP", default=NONE)),
    Column("External-IP", _external_ip),
    Column("Port(s)", _ports),
    AGE,
    Column("Selector", lambda s, now: labels(get(s, "spec", "selector", default={})), priority=1),
)

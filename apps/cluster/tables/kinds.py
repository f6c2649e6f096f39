"""The columns of each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from apps.cluster.kinds import Kind
from apps.cluster.tables import data, events, nodes, pods, storage, workloads
from apps.cluster.tables.columns import AGE, NAME, NONE, Column, get, labels, path, selector
from apps.cluster.tables.custom import custom_columns

Body = Mapping[str, Any]

DEFAULT = (NAME, AGE)


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


def _health(field: str, words: Mapping[str, str] = {}) -> Callable[[Body, datetime], str]:
    """A field of the condition Healthy, or the word for its value."""

    def cell(component: Body, now: datetime) -> str:
        for condition in get(component, "conditions", default=[]):
            if condition["type"] == "Healthy":
                value = str(condition.get(field, ""))
                return words.get(value, value)
        return ""

    return cell


def _quota_cell(of_limits: bool) -> Callable[[Body, datetime], str]:
    """Used and hard amounts: of requests and counts, or of limits."""

    def cell(quota: Body, now: datetime) -> str:
        used = get(quota, "status", "used", default={})
        return ", ".join(
            f"{name}: {used.get(name, 0)}/{hard}"
            for name, hard in sorted(get(quota, "status", "hard", default={}).items())
            if name.startswith("limits") == of_limits
        )

    return cell


_REPLICAS = (
    NAME,
    Column("Desired", path("spec", "replicas", default=0), "integer"),
    Column("Current", path("status", "replicas", default=0), "integer"),
    Column("Ready", path("status", "readyReplicas", default=0), "integer"),
    AGE,
    *workloads.CONTAINERS,
)

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    **data.COLUMNS,
    "ComponentStatus": (
        NAME,
        Column("Status", _health("status", {"True": "Healthy", "False": "Unhealthy"})),
        Column("Message", _health("message")),
        Column("Error", _health("error")),
    ),
    "CSIDriver": storage.CSI_DRIVERS,
    "CSINode": storage.CSI_NODES,
    "CSIStorageCapacity": storage.CAPACITIES,
    "Event": events.COLUMNS,
    "Lease": (NAME, Column("Holder", path("spec", "holderIdentity")), AGE),
    "Namespace": (NAME, Column("Status", path("status", "phase")), AGE),
    "Node": nodes.COLUMNS,
    "PersistentVolume": storage.VOLUMES,
    "PersistentVolumeClaim": storage.CLAIMS,
    "Pod": pods.COLUMNS,
    "PodDisruptionBudget": (
        NAME,
        Column("Min Available", lambda b, now: str(get(b, "spec", "minAvailable", default="N/A"))),
        Column(
            "Max Unavailable", lambda b, now: str(get(b, "spec", "maxUnavailable", default="N/A"))
        ),
        Column("Allowed Disruptions", path("status", "disruptionsAllowed", default=0), "integer"),
        AGE,
    ),
    "PriorityClass": (
        NAME,
        Column("Value", path("value", default=0), "integer"),
        Column("Global-Default", path("globalDefault", default=False), "boolean"),
        AGE,
        Column("PreemptionPolicy", path("preemptionPolicy")),
    ),
    "Deployment": workloads.DEPLOYMENTS,
    "DaemonSet": workloads.DAEMON_SETS,
    "Job": workloads.JOBS,
    "ReplicaSet": (
        *_REPLICAS,
        Column(
            "Selector", lambda w, now: selector(get(w, "spec", "selector", default={})), priority=1
        ),
    ),
    "ReplicationController": (
        *_REPLICAS,
        Column(
            "Selector", lambda w, now: labels(get(w, "spec", "selector", default={})), priority=1
        ),
    ),
    "ResourceQuota": (
        NAME,
        Column("Request", _quota_cell(of_limits=False)),
        Column("Limit", _quota_cell(of_limits=True)),
        AGE,
    ),
    "RuntimeClass": (NAME, Column("Handler", path("handler")), AGE),
    "Service": (
        NAME,
        Column("Type", path("spec", "type", default="ClusterIP")),
        Column("Cluster-IP", path("spec", "clusterIP", default=NONE)),
        Column("External-IP", _external_ip),
        Column("Port(s)", _ports),
        AGE,
        Column(
            "Selector", lambda s, now: labels(get(s, "spec", "selector", default={})), priority=1
        ),
    ),
    "StatefulSet": (
        NAME,
        Column(
            "Ready",
            lambda w, now: (
                f"{get(w, 'status', 'readyReplicas', default=0)}"
                f"/{get(w, 'spec', 'replicas', default=0)}"
            ),
        ),
        AGE,
        *workloads.CONTAINERS,
    ),
    "StorageClass": storage.CLASSES,
    "VolumeAttachment": storage.ATTACHMENTS,
}


def columns_of(kind: Kind) -> tuple[Column, ...]:
    """The columns of a kind, starting with the name."""
    return custom_columns(kind) if kind.definition_name else COLUMNS.get(kind.name, DEFAULT)


def row_conditions(kind: str, body: Body) -> list[dict[str, str]]:
    """The conditions of a row of this kind."""
    return pods.row_conditions(body) if kind == "Pod" else []

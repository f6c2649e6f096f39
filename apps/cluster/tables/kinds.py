"""The columns of each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec

from apps.cluster.kinds import Kind
from apps.cluster.schema.definitions import DEFINITIONS
from apps.cluster.tables import data, events, nodes, pods, storage, workloads
from apps.cluster.tables.columns import (
    AGE,
    CREATED,
    NAME,
    NONE,
    Column,
    get,
    labels,
    path,
    selector,
)
from apps.cluster.tables.custom import custom_columns

Body = Mapping[str, Any]

#: Of kinds that have no columns of their own.
DEFAULT = (NAME, CREATED)
#: Kind -> column -> its description: a sentence, or the field of the API whose description it is.
_DESCRIPTIONS: Final = Path(__file__).with_name("descriptions.json")
_METADATA: Final = "apimachinery.pkg.apis.meta.v1.ObjectMeta"
SHARED: Final = {
    "Name": f"{_METADATA}.name",
    "Age": f"{_METADATA}.creationTimestamp",
    "Created At": f"{_METADATA}.creationTimestamp",
    "Containers": "Names of each container in the template.",
    "Images": "Images referenced by each container in the template.",
}


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


@lru_cache(maxsize=512)
def definitions_of(kind: Kind) -> list[dict[str, Any]]:
    """The `columnDefinitions` of a kind, with descriptions."""
    described = SHARED if kind.definition_name else {**SHARED, **_descriptions().get(kind.name, {})}
    return [
        {**column.definition(), "description": column.description or _text(described, column.name)}
        for column in columns_of(kind)
    ]


@cache
def _descriptions() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = msgspec.json.decode(_DESCRIPTIONS.read_bytes())
    return found


def _text(described: Mapping[str, str], name: str) -> str:
    """The description of a column: that of the API's field which it names, or a sentence."""
    text = described.get(name, "")
    if " " in text or not text:
        return text
    definition, _, field_name = text.rpartition(".")
    field = DEFINITIONS[f"io.k8s.{definition}"]["properties"][field_name]
    return str(field["description"]).partition("\n\nPossible enum values:")[0]


def row_conditions(kind: str, body: Body) -> list[dict[str, str]]:
    """The conditions of a row of this kind."""
    return pods.row_conditions(body) if kind == "Pod" else []

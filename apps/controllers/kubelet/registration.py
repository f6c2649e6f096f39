"""What a kubelet reports about its node: labels, system, addresses, conditions."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from apps.cluster.writing.metadata import timestamp

Body = dict[str, Any]

KUBELET_VERSION: Final = "v1.36.2"
_ARCHITECTURE: Final = "amd64"
_SYSTEM: Final = "linux"
_RELEASES: Final = {
    "architecture": _ARCHITECTURE,
    "containerRuntimeVersion": "containerd://2.1.4",
    "kernelVersion": "6.12.0-mock",
    "kubeProxyVersion": "",
    "kubeletVersion": KUBELET_VERSION,
    "operatingSystem": _SYSTEM,
    "osImage": "schedweb mock kubelet",
}
#: Type, status, reason and message of the conditions of a node that works.
_CONDITIONS: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "is posting ready status"),
)


def node_labels(name: str, info: Mapping[str, str] = {}) -> dict[str, str]:
    """The labels that a kubelet sets on its node, which has this nodeInfo."""
    architecture = info.get("architecture") or _ARCHITECTURE
    system = info.get("operatingSystem") or _SYSTEM
    return {
        "kubernetes.io/arch": architecture,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": system,
    }


def beta_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels with the names of before Kubernetes 1.17 that correspond to these."""
    return {_BETA[key]: value for key, value in labels.items() if key in _BETA}


_BETA: Final = {
    "kubernetes.io/arch": "beta.kubernetes.io/arch",
    "kubernetes.io/os": "beta.kubernetes.io/os",
    "node.kubernetes.io/instance-type": "beta.kubernetes.io/instance-type",
    "topology.kubernetes.io/region": "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone": "failure-domain.beta.kubernetes.io/zone",
}


def node_status(name: str, now: datetime) -> Body:
    """System, addresses and conditions of a node that works; a stable function of its name."""
    identity = uuid.uuid5(uuid.NAMESPACE_DNS, name)
    ids = {"machineID": identity.hex, "systemUUID": str(identity), "bootID": str(identity)}
    moment = timestamp(now)
    return {
        "nodeInfo": {**ids, **_RELEASES},
        "addresses": [
            {"type": "InternalIP", "address": host_address(name)},
            {"type": "Hostname", "address": name},
        ],
        "conditions": [
            {
                "type": kind,
                "status": value,
                "reason": reason,
                "message": f"kubelet {message}",
                "lastHeartbeatTime": moment,
                "lastTransitionTime": moment,
            }
            for kind, value, reason, message in _CONDITIONS
        ],
    }


def complete_status(name: str, given: Mapping[str, Any], now: datetime) -> Body:
    """The status of a node with what its kubelet reports; what it has is kept."""
    reported = node_status(name, now)
    present = list(given.get("conditions") or [])
    known = {each.get("type") for each in present}
    info = {key: value for key, value in (given.get("nodeInfo") or {}).items() if value}
    return {
        **given,
        "nodeInfo": {**reported["nodeInfo"], **info},
        "addresses": given.get("addresses") or reported["addresses"],
        "conditions": present + [c for c in reported["conditions"] if c["type"] not in known],
    }


@lru_cache(maxsize=8192)
def host_address(node: str) -> str:
    """A stable address of the node; in a mock cluster it is not reachable."""
    first, second = hashlib.sha256(node.encode()).digest()[:2]
    return f"172.18.{first}.{second}"

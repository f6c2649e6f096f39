"""The areas under which the page of kinds lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apps.cluster.kinds import Kind

_WORKLOADS: Final = "Workloads"
_CLUSTER: Final = "Cluster"
_CONFIGURATION: Final = "Configuration"
_NETWORK: Final = "Services and networking"
_STORAGE: Final = "Storage"
_POLICY: Final = "Policy and scheduling"
_ACCESS: Final = "Access"
_EXTENSIONS: Final = "Admission and extensions"
_CUSTOM: Final = "Custom resources"

#: In the order of the page.
AREAS: Final = (
    _CLUSTER,
    _WORKLOADS,
    _CONFIGURATION,
    _NETWORK,
    _STORAGE,
    _POLICY,
    _ACCESS,
    _EXTENSIONS,
    _CUSTOM,
)
_BY_GROUP: Final[Mapping[str, str]] = {
    "admissionregistration.k8s.io": _EXTENSIONS,
    "apiextensions.k8s.io": _EXTENSIONS,
    "apiregistration.k8s.io": _EXTENSIONS,
    "apps": _WORKLOADS,
    "autoscaling": _WORKLOADS,
    "batch": _WORKLOADS,
    "certificates.k8s.io": _ACCESS,
    "discovery.k8s.io": _NETWORK,
    "flowcontrol.apiserver.k8s.io": _POLICY,
    "networking.k8s.io": _NETWORK,
    "policy": _POLICY,
    "rbac.authorization.k8s.io": _ACCESS,
    "resource.k8s.io": _POLICY,
    "scheduling.k8s.io": _POLICY,
    "storage.k8s.io": _STORAGE,
}
_BY_NAME: Final[Mapping[str, str]] = {
    "ConfigMap": _CONFIGURATION,
    "Endpoints": _NETWORK,
    "LimitRange": _POLICY,
    "PersistentVolume": _STORAGE,
    "PersistentVolumeClaim": _STORAGE,
    "Pod": _WORKLOADS,
    "PodTemplate": _WORKLOADS,
    "ReplicationController": _WORKLOADS,
    "ResourceQuota": _POLICY,
    "Secret": _CONFIGURATION,
    "Service": _NETWORK,
    "ServiceAccount": _ACCESS,
}


def area_of(kind: Kind) -> str:
    """The area of a kind; the cluster's own for nodes, namespaces, events and the like."""
    if kind.definition_name:
        return _CUSTOM
    return _BY_NAME.get(kind.name) or _BY_GROUP.get(kind.group, _CLUSTER)

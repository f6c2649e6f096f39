"""Defaults of nodes, namespaces and other small kinds."""

from __future__ import annotations

from typing import Final

from apps import quantity
from apps.cluster.admission.defaulting.resources import canonicalize
from apps.cluster.admission.draft import Body, child, drop_empty, write_missing

#: Fields of nodeInfo that are always written.
_NODE_INFO: Final = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)


def default_node(node: Body) -> None:
    """A node: allocatable defaults to capacity."""
    spec, status = child(node, "spec"), child(node, "status")
    drop_empty(spec, "unschedulable", "taints", "podCIDR", "podCIDRs", "providerID", "externalID")
    for taint in spec.get("taints", ()):
        drop_empty(taint, "value")
    if "podCIDR" in spec and "podCIDRs" not in spec:
        spec["podCIDRs"] = [spec["podCIDR"]]
    if "podCIDRs" in spec:
        spec["podCIDR"] = spec["podCIDRs"][0]
    canonicalize(status, "capacity")
    canonicalize(status, "allocatable")
    if "capacity" in status:
        # empty ones are not stored, and read as absent
        status["allocatable"] = status.get("allocatable") or dict(status["capacity"])
    drop_empty(status, "capacity", "allocatable")
    child(child(status, "daemonEndpoints"), "kubeletEndpoint").setdefault("Port", 0)
    status.pop("config", None)
    info = child(status, "nodeInfo")
    for name in _NODE_INFO:
        info.setdefault(name, "")


def default_namespace(namespace: Body) -> None:
    """A namespace has its name as a label, and a phase."""
    status = child(namespace, "status")
    if not status.get("phase"):
        status["phase"] = "Active"
    metadata = namespace["metadata"]
    if metadata.get("name"):
        labels = child(metadata, "labels")
        labels["kubernetes.io/metadata.name"] = metadata["name"]


def add_finalizer(namespace: Body) -> None:
    """A namespace has a finalizer of its own."""
    child(namespace, "spec").setdefault("finalizers", ["kubernetes"])


def default_priority_class(priority_class: Body) -> None:
    """A PriorityClass: preempts lower priorities by default; its value is always written."""
    drop_empty(priority_class, "globalDefault", "description", "preemptionPolicy")
    priority_class.setdefault("value", 0)
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")


def default_runtime_class(runtime_class: Body) -> None:
    """A RuntimeClass; its overhead is a resource list, its tolerations are a pod's."""
    canonicalize(runtime_class.get("overhead", {}), "podFixed")
    for toleration in runtime_class.get("scheduling", {}).get("tolerations", ()):
        drop_empty(toleration, "key", "operator", "value", "effect")


def default_lease(lease: Body) -> None:
    """A Lease may have no holder."""
    child(lease, "spec")


def default_event(event: Body) -> None:
    """An event of the core group, in which some fields are written even if unset."""
    drop_empty(event, "reason", "message", "type", "count", "action")
    child(event, "involvedObject")
    child(event, "source")
    for name in ("firstTimestamp", "lastTimestamp", "eventTime"):
        event.setdefault(name, None)
    for name in ("reportingComponent", "reportingInstance"):
        event.setdefault(name, "")


def default_csi_node(node: Body) -> None:
    """A CSINode, in which lists are written even without an entry."""
    spec = child(node, "spec")
    write_missing(spec, "drivers")
    for driver in spec["drivers"] or ():
        write_missing(driver, "topologyKeys")


def default_csi_driver(driver: Body) -> None:
    """A CSIDriver: attachRequired defaults to true, storageCapacity to false."""
    spec = child(driver, "spec")
    spec.setdefault("attachRequired", True)
    spec.setdefault("podInfoOnMount", False)
    spec.setdefault("storageCapacity", False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec.setdefault("requiresRepublish", False)
    spec.setdefault("seLinuxMount", False)
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def default_csi_storage_capacity(capacity: Body) -> None:
    """The sizes of a CSIStorageCapacity are quantities."""
    for name in ("capacity", "maximumVolumeSize"):
        if name in capacity:
            capacity[name] = quantity.canonical(capacity[name])


def default_resource_quota(quota: Body) -> None:
    """A quota's amounts in the notation of Kubernetes."""
    spec = child(quota, "spec")
    canonicalize(spec, "hard")
    drop_empty(spec, "hard", "scopes")

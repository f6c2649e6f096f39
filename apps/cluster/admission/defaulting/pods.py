"""Defaults of pods and of pod templates."""

from __future__ import annotations

from itertools import chain
from typing import Final

from apps.cluster.admission.defaulting.containers import (
    default_containers,
    host_ports_from_container_ports,
)
from apps.cluster.admission.defaulting.resources import (
    canonicalize,
    default_pod_level,
    default_requirements,
    requests_from_limits,
)
from apps.cluster.admission.defaulting.volumes import default_volume
from apps.cluster.admission.draft import Body, child, drop_empty

#: Fields that are not written if empty.
_DROPPED: Final = frozenset(
    (
        "volumes",
        "initContainers",
        "ephemeralContainers",
        "nodeName",
        "nodeSelector",
        "tolerations",
        "topologySpreadConstraints",
        "schedulingGates",
        "priorityClassName",
        "overhead",
        "resourceClaims",
        "readinessGates",
        "hostAliases",
        "imagePullSecrets",
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "hostname",
        "subdomain",
        "serviceAccountName",
        "serviceAccount",
    )
)
#: Fields of a container's status that are always written; None means an empty object.
_CONTAINER_STATUS: Final = (
    ("name", ""),
    ("state", None),
    ("lastState", None),
    ("ready", False),
    ("restartCount", 0),
    ("image", ""),
    ("imageID", ""),
)


def default_pod(pod: Body) -> None:
    """A pod and its status."""
    spec = child(pod, "spec")
    default_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    for container in chain(spec.get("initContainers", ()), spec.get("containers", ())):
        requests_from_limits(container["resources"])
    default_pod_level(spec)
    if spec.get("hostNetwork"):
        host_ports_from_container_ports(spec.get("containers", ()))
        host_ports_from_container_ports(spec.get("initContainers", ()))
    default_pod_status(pod.get("status", {}))


def default_pod_status(status: Body) -> None:
    """The fields of container states that are always written, and addresses that agree."""
    _default_addresses(status)
    for field in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for container in status.get(field, ()):
            for name, unset in _CONTAINER_STATUS:
                container.setdefault(name, {} if unset is None else unset)
            for state in (container["state"], container["lastState"]):
                _default_state(state)
            canonicalize(container, "allocatedResources")
            if "resources" in container:
                default_requirements(container["resources"])


def _default_addresses(status: Body) -> None:
    """The first of a pod's addresses is its address, which wins over the list."""
    address, listed = status.get("podIP"), status.get("podIPs") or [{}]
    if not address and listed[0].get("ip"):
        status["podIP"] = listed[0]["ip"]
    elif address and listed[0].get("ip") != address:
        status["podIPs"] = [{"ip": address}]


def _default_state(state: Body) -> None:
    if "running" in state:
        state["running"].setdefault("startedAt", None)
    if "terminated" in state:
        for field, value in (("exitCode", 0), ("startedAt", None), ("finishedAt", None)):
            state["terminated"].setdefault(field, value)


def default_template(template: Body) -> None:
    """A pod template of a controller."""
    drop_empty(child(template, "metadata"), "labels", "annotations")
    default_pod_spec(child(template, "spec"))


def default_pod_spec(spec: Body) -> None:
    """The spec of a pod or a pod template."""
    for name in _DROPPED & spec.keys():
        drop_empty(spec, name)
    _mirror_service_account(spec)
    spec["restartPolicy"] = spec.get("restartPolicy") or "Always"
    spec["dnsPolicy"] = spec.get("dnsPolicy") or "ClusterFirst"
    spec["schedulerName"] = spec.get("schedulerName") or "default-scheduler"
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("securityContext", {})
    default_containers(spec.get("initContainers", ()))
    default_containers(spec.get("containers", ()))
    default_containers(spec.get("ephemeralContainers", ()))
    for volume in spec.get("volumes", ()):
        default_volume(volume)
    for toleration in spec.get("tolerations", ()):
        drop_empty(toleration, "key", "operator", "value", "effect")
    canonicalize(spec, "overhead")
    if "resources" in spec:
        default_requirements(spec["resources"])


def _mirror_service_account(spec: Body) -> None:
    """The deprecated serviceAccount always equals serviceAccountName."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name

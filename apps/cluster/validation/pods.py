"""Pods: the spec, and additional rules for new pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.pods.resources import aggregate, format_like_container, is_pod_level
from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apps.cluster.validation.containers import validate_containers, validate_init_containers
from apps.cluster.validation.metadata import validate_labels
from apps.cluster.validation.placement import (
    validate_affinity,
    validate_scheduling_gates,
    validate_tolerations,
    validate_topology_spread,
)
from apps.cluster.validation.pod_claims import validate_claim_names, validate_resource_claims
from apps.cluster.validation.quantities import validate_overhead, validate_requirements
from apps.cluster.validation.volumes import validate_volumes
from apps.scheduler import quantity

Body = Mapping[str, Any]

_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES: Final = ("Never", "PreemptLowerPriority")
_SYSTEMS: Final = ("linux", "windows")
_POD_LEVEL: Final = ("cpu", "hugepages-", "memory")
_MAX_SECONDS: Final = 2**31 - 1
#: Names in the spec: (field, rule).
_NAMES: Final[tuple[tuple[str, names.Check], ...]] = (
    ("serviceAccountName", names.dns_subdomain),
    ("nodeName", names.dns_subdomain),
    ("hostname", names.dns_label),
    ("subdomain", names.dns_label),
    ("priorityClassName", names.dns_subdomain),
    ("runtimeClassName", names.dns_subdomain),
)


def validate_new_pod(pod: Body) -> Causes:
    """A pod that is being created."""
    spec = pod.get("spec", {})
    yield from validate_claim_names(pod["metadata"].get("name", ""), spec)
    yield from validate_pod_spec(spec, "spec")
    if "ephemeralContainers" in spec:
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden(
            "spec.nodeName", "cannot be set until all schedulingGates have been cleared"
        )


def validate_pod_spec(spec: Body, path: str) -> Causes:
    """The spec of a pod or a pod template."""
    volumes = spec.get("volumes", ())
    yield from validate_volumes(volumes, f"{path}.volumes")
    yield from validate_resource_claims(spec, path)
    if "resources" in spec:
        yield from _pod_level(spec, f"{path}.resources")
    yield from _all_containers(spec, path, {volume.get("name", "") for volume in volumes})
    yield from _choices(spec, path)
    yield from _placement(spec, path)
    yield from _rest(spec, path)


def validate_preemption_policy(policy: str | None, path: str) -> Causes:
    """preemptionPolicy of a pod or a PriorityClass."""
    if policy is not None and policy not in _PREEMPTION_POLICIES:
        yield not_supported(path, policy, _PREEMPTION_POLICIES)


def _all_containers(spec: Body, path: str, volumes: set[str]) -> Causes:
    containers = spec.get("containers", ())
    host_network = bool(spec.get("hostNetwork"))
    yield from validate_containers(
        containers, f"{path}.containers", volumes=volumes, host_network=host_network
    )
    if "initContainers" in spec:
        yield from validate_init_containers(
            spec["initContainers"],
            f"{path}.initContainers",
            names_in_use={container.get("name", "") for container in containers},
            volumes=volumes,
            host_network=host_network,
        )


def _choices(spec: Body, path: str) -> Causes:
    for field, supported in (
        ("restartPolicy", _RESTART_POLICIES),
        ("dnsPolicy", _DNS_POLICIES),
    ):
        choice = spec.get(field)
        if choice is not None and choice not in supported:
            yield not_supported(f"{path}.{field}", choice, supported)


def _placement(spec: Body, path: str) -> Causes:
    if "nodeSelector" in spec:
        yield from validate_labels(spec["nodeSelector"], f"{path}.nodeSelector")
    if "affinity" in spec:
        yield from validate_affinity(spec["affinity"], f"{path}.affinity")
    if "schedulingGates" in spec:
        yield from validate_scheduling_gates(spec["schedulingGates"], f"{path}.schedulingGates")
    if "topologySpreadConstraints" in spec:
        yield from validate_topology_spread(
            spec["topologySpreadConstraints"], f"{path}.topologySpreadConstraints"
        )


def _rest(spec: Body, path: str) -> Causes:
    for field, rule in _NAMES:
        name = spec.get(field)
        if name:
            yield from all_invalid(f"{path}.{field}", name, rule(name))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MAX_SECONDS:
        yield invalid(
            f"{path}.activeDeadlineSeconds",
            deadline,
            f"must be between 1 and {_MAX_SECONDS}, inclusive",
        )
    if "tolerations" in spec:
        yield from validate_tolerations(spec["tolerations"], f"{path}.tolerations")
    yield from validate_preemption_policy(spec.get("preemptionPolicy"), f"{path}.preemptionPolicy")
    if "overhead" in spec:
        yield from validate_overhead(spec["overhead"], f"{path}.overhead")
    if "os" in spec:
        system = spec["os"].get("name", "")
        if not system:
            yield required(f"{path}.os.name", "cannot be empty")
        elif system not in _SYSTEMS:
            yield not_supported(f"{path}.os", system, _SYSTEMS)


def _pod_level(spec: Body, path: str) -> Causes:
    resources = spec["resources"]
    for field in ("limits", "requests"):
        for name in resources.get(field, {}):
            if not is_pod_level(name):
                yield not_supported(f"{path}.{field}[{name}]", name, _POD_LEVEL)
    yield from validate_requirements(resources, path)
    requests = resources.get("requests", {})
    for name, nanos in aggregate(spec, "requests").items():
        asked = requests.get(name)
        if asked is not None and quantity.parse(asked).nanos < nanos:
            yield invalid(
                f"{path}.requests[{name}]",
                asked,
                "must be greater than or equal to aggregate container requests of "
                f"{format_like_container(spec, 'requests', name, nanos)}",
            )
    yield from _within_pod_limits(spec.get("containers", ()), resources.get("limits", {}), path)


def _within_pod_limits(containers: Sequence[Body], limits: Body, path: str) -> Causes:
    for index, container in enumerate(containers):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            most = limits.get(name)
            if most is not None and quantity.compare(limit, most) > 0:
                yield invalid(
                    f"{path}.containers[{index}].resources.limits[{name}]",
                    limit,
                    f"must be less than or equal to pod limits of {most}",
                )

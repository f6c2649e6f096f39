"""Pods: the spec, and additional rules for new pods."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from apps.cluster.validation.containers import (
    ContainerContext,
    validate_containers,
    validate_init_containers,
)
from apps.cluster.validation.metadata import validate_labels
from apps.cluster.validation.placement import (
    validate_affinity,
    validate_scheduling_gates,
    validate_tolerations,
    validate_topology_spread,
)
from apps.cluster.validation.pod_claims import validate_claim_names, validate_resource_claims
from apps.cluster.validation.pod_resources import validate_pod_resources
from apps.cluster.validation.quantities import validate_overhead
from apps.cluster.validation.resolution import validate_dns, validate_host_aliases
from apps.cluster.validation.security import (
    validate_host_users,
    validate_pod_security,
    validate_system_fields,
)
from apps.cluster.validation.volumes import validate_volumes

Body = Mapping[str, Any]

_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES: Final = ("Never", "PreemptLowerPriority")
_SYSTEMS: Final = ("linux", "windows")
_MAX_HOSTNAME: Final = 64
_MIRROR: Final = "kubernetes.io/config.mirror"
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
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
    yield from _annotations(pod["metadata"].get("annotations") or {}, spec)
    yield from validate_pod_spec(spec, "spec")
    if "ephemeralContainers" in spec:
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden(
            "spec.nodeName", "cannot be set until all schedulingGates have been cleared"
        )


def _annotations(annotations: Mapping[str, str], spec: Body) -> Causes:
    """What annotations say of the pod itself."""
    if annotations.get(_MIRROR) and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"metadata.annotations[{_MIRROR}]", annotations[_MIRROR], why)
    for key, profile in annotations.items():
        if not key.startswith(_APP_ARMOR):
            continue
        path, container = f"metadata.annotations[{key}]", key.removeprefix(_APP_ARMOR)
        lists = (spec.get(field) or () for field in ("initContainers", "containers"))
        if all(each.get("name") != container for each in chain(*lists)):
            yield invalid(path, container, "container not found")
        if profile not in ("", "runtime/default", "unconfined") and not profile.startswith(
            "localhost/"
        ):
            yield invalid(path, profile, f'invalid AppArmor profile name: "{profile}"')


def validate_pod_spec(spec: Body, path: str) -> Causes:
    """The spec of a pod or a pod template."""
    volumes: dict[str, Body] = {}
    yield from validate_volumes(spec.get("volumes", ()), f"{path}.volumes", volumes)
    yield from validate_resource_claims(spec.get("resourceClaims") or (), f"{path}.resourceClaims")
    if "resources" in spec:
        yield from validate_pod_resources(spec, f"{path}.resources")
    yield from _all_containers(spec, path, volumes)
    yield from _choices(spec, path)
    yield from _placement(spec, path)
    yield from _rest(spec, path)


def validate_preemption_policy(policy: str | None, path: str) -> Causes:
    """preemptionPolicy of a pod or a PriorityClass."""
    if policy is not None and policy not in _PREEMPTION_POLICIES:
        yield not_supported(path, policy, _PREEMPTION_POLICIES)


def _all_containers(spec: Body, path: str, volumes: Mapping[str, Body]) -> Causes:
    containers = spec.get("containers", ())
    around = ContainerContext.of(spec, volumes)
    yield from validate_containers(containers, f"{path}.containers", around)
    if "initContainers" in spec:
        yield from validate_init_containers(
            spec["initContainers"],
            f"{path}.initContainers",
            around,
            names_in_use={container.get("name", "") for container in containers},
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
    context = spec.get("securityContext")
    if context or spec.get("shareProcessNamespace"):
        yield from validate_pod_security(context or {}, spec, f"{path}.securityContext")
    if "affinity" in spec:
        yield from validate_affinity(spec["affinity"], f"{path}.affinity")
    if "dnsConfig" in spec or spec.get("dnsPolicy") == "None":
        yield from validate_dns(spec, f"{path}.dnsConfig")
    for index, gate in enumerate(spec.get("readinessGates", ())):
        condition = gate.get("conditionType", "")
        place = f"{path}.readinessGates[{index}].conditionType"
        yield from all_invalid(place, condition, names.qualified_name(condition))
    if "schedulingGates" in spec:
        yield from validate_scheduling_gates(spec["schedulingGates"], f"{path}.schedulingGates")
    if "topologySpreadConstraints" in spec:
        yield from validate_topology_spread(
            spec["topologySpreadConstraints"], f"{path}.topologySpreadConstraints"
        )


def _hostname_override(spec: Body, path: str) -> Causes:
    name = spec["hostnameOverride"]
    if spec.get("setHostnameAsFQDN"):
        yield forbidden(path, "may not be specified when setHostnameAsFQDN is true")
    if spec.get("hostNetwork"):
        yield forbidden(path, "may not be specified when hostNetwork is true")
    yield from all_invalid(path, name, names.dns_subdomain(name))
    if len(name) > _MAX_HOSTNAME:
        yield too_long(path, _MAX_HOSTNAME)


def _rest(spec: Body, path: str) -> Causes:
    yield from validate_host_users(spec, path)
    if spec.get("hostnameOverride") is not None:
        yield from _hostname_override(spec, f"{path}.hostnameOverride")
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
    if "hostAliases" in spec:
        yield from validate_host_aliases(spec["hostAliases"], f"{path}.hostAliases")
    yield from validate_preemption_policy(spec.get("preemptionPolicy"), f"{path}.preemptionPolicy")
    if "overhead" in spec:
        yield from validate_overhead(spec["overhead"], f"{path}.overhead")
    if "os" in spec:
        system = spec["os"].get("name", "")
        if not system:
            yield required(f"{path}.os.name", "cannot be empty")
        elif system not in _SYSTEMS:
            yield not_supported(f"{path}.os", system, _SYSTEMS)
        else:
            yield from validate_system_fields(spec, path, system)

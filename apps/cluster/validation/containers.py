"""Containers of a pod: names, images, ports, environment, mounts, resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from apps.cluster.validation.container_ports import (
    validate_host_network_ports,
    validate_host_ports,
    validate_ports,
)
from apps.cluster.validation.environment import (
    validate_environment,
    validate_environment_sources,
)
from apps.cluster.validation.handlers import validate_handlers
from apps.cluster.validation.mounts import validate_devices, validate_mounts
from apps.cluster.validation.pod_claims import validate_used_claims
from apps.cluster.validation.quantities import validate_requirements
from apps.cluster.validation.restarts import validate_resize_policies, validate_restart_rules
from apps.cluster.validation.security import validate_container_security

Body = Mapping[str, Any]

_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES: Final = ("FallbackToLogsOnError", "File")
_ONLY_SIDECARS: Final = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_NOT_EPHEMERAL: Final = (*_ONLY_SIDECARS, "ports", "resources", "restartPolicy")
_NOT_RESTARTED: Final = "must not be set to 'RestartContainer' for non-sidecar initContainers"
_NEEDS_SIDECAR: Final = "may not be set for init containers without restartPolicy=Always"


@dataclass(frozen=True, slots=True)
class ContainerContext:
    """What the rules for a container read from the pod's spec."""

    #: by name
    volumes: Mapping[str, Body]
    claims: frozenset[str]
    restart_policy: str
    grace_period: int
    host_network: bool
    host_users: bool

    @classmethod
    def of(cls, spec: Body, volumes: Mapping[str, Body]) -> ContainerContext:
        """What surrounds the containers of this spec, with its valid volumes."""
        return cls(
            volumes=volumes,
            claims=frozenset(
                claim["name"] for claim in spec.get("resourceClaims", ()) if claim.get("name")
            ),
            restart_policy=spec.get("restartPolicy", "Always"),
            grace_period=spec.get("terminationGracePeriodSeconds", 30),
            host_network=bool(spec.get("hostNetwork")),
            host_users=spec.get("hostUsers") is not False,
        )


def validate_containers(containers: Sequence[Body], path: str, around: ContainerContext) -> Causes:
    """The containers of a pod; at least one is required."""
    if not containers:
        yield required(path)
        return
    seen: set[str] = set()
    for index, container in enumerate(containers):
        place = f"{path}[{index}]"
        yield from _container(container, place, seen, around)
        yield from validate_handlers(container, place, around.grace_period)
        yield from validate_restart_rules(container, place)
    yield from validate_host_ports(containers, path, around.host_network)


def validate_init_containers(
    containers: Sequence[Body],
    path: str,
    around: ContainerContext,
    names_in_use: set[str],
) -> Causes:
    """Init containers; `names_in_use` are the names of the other containers."""
    for index, container in enumerate(containers):
        place = f"{path}[{index}]"
        yield from _container(container, place, names_in_use, around)
        yield from validate_restart_rules(container, place)
        if container.get("restartPolicy") == "Always":
            yield from validate_handlers(container, place, around.grace_period)
        else:
            for field in _ONLY_SIDECARS:
                if field in container:
                    yield forbidden(f"{place}.{field}", _NEEDS_SIDECAR)
            for number, each in enumerate(container.get("resizePolicy", ())):
                if each.get("restartPolicy") == "RestartContainer":
                    where = f"{place}.resizePolicy[{number}].restartPolicy"
                    yield invalid(where, "RestartContainer", _NOT_RESTARTED)
    if around.host_network:
        yield from validate_host_network_ports(containers, path)


def validate_debug_containers(
    containers: Sequence[Body], path: str, around: ContainerContext, names_in_use: set[str]
) -> Causes:
    """Ephemeral containers; `names_in_use` are the names of the other containers."""
    targets = frozenset(names_in_use)
    seen = set(names_in_use)
    for index, container in enumerate(containers):
        place, target = f"{path}[{index}]", container.get("targetContainerName")
        yield from _container(container, place, seen, around)
        for field in _NOT_EPHEMERAL:
            if container.get(field):
                yield forbidden(f"{place}.{field}", "cannot be set for an Ephemeral Container")
        if target and target not in targets:
            yield not_found(f"{place}.targetContainerName", target)


def _container(container: Body, path: str, seen: set[str], around: ContainerContext) -> Causes:
    name, image = container.get("name", ""), container.get("image", "")
    if not name:
        yield required(f"{path}.name")
    else:
        yield from all_invalid(f"{path}.name", name, names.dns_label(name))
    if not image:
        yield required(f"{path}.image")
    elif image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")
    if "ports" in container:
        yield from validate_ports(container["ports"], f"{path}.ports")
    if "env" in container:
        yield from validate_environment(container["env"], f"{path}.env")
    if "envFrom" in container:
        yield from validate_environment_sources(container["envFrom"], f"{path}.envFrom")
    if "volumeMounts" in container:
        yield from validate_mounts(container, f"{path}.volumeMounts", around.volumes)
    if "volumeDevices" in container:
        yield from validate_devices(container, f"{path}.volumeDevices", around.volumes)
    yield from _policies(container, path)
    resources = container.get("resources")
    if resources:
        yield from validate_requirements(resources, f"{path}.resources")
        claims = resources.get("claims") or ()
        yield from validate_used_claims(claims, around.claims, f"{path}.resources.claims")
    if "resizePolicy" in container:
        yield from validate_resize_policies(
            container["resizePolicy"], f"{path}.resizePolicy", around.restart_policy
        )
    if "securityContext" in container:
        yield from validate_container_security(
            container["securityContext"],
            f"{path}.securityContext",
            host_users=around.host_users,
        )
    if name in seen:
        yield duplicate(f"{path}.name", name)
    seen.add(name)


def _policies(container: Body, path: str) -> Causes:
    for field, supported in (
        ("terminationMessagePolicy", _MESSAGE_POLICIES),
        ("imagePullPolicy", _PULL_POLICIES),
    ):
        policy = container.get(field)
        if policy is not None and policy not in supported:
            yield not_supported(f"{path}.{field}", policy, supported)

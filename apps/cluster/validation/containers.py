"""Containers of a pod: names, images, ports, environment, mounts, resources."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
from apps.cluster.validation.quantities import validate_requirements

Body = Mapping[str, Any]

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES: Final = ("FallbackToLogsOnError", "File")
_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
_ONLY_SIDECARS: Final = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_NOT_EPHEMERAL: Final = (*_ONLY_SIDECARS, "ports", "resources", "restartPolicy")
_NEEDS_SIDECAR: Final = "may not be set for init containers without restartPolicy=Always"


def validate_containers(
    containers: Sequence[Body], path: str, *, volumes: Collection[str], host_network: bool
) -> Causes:
    """The containers of a pod; at least one is required."""
    if not containers:
        yield required(path)
        return
    seen: set[str] = set()
    for index, container in enumerate(containers):
        yield from _container(container, f"{path}[{index}]", seen, volumes)
    yield from _host_ports(containers, path, host_network)


def validate_init_containers(
    containers: Sequence[Body],
    path: str,
    *,
    names_in_use: set[str],
    volumes: Collection[str],
    host_network: bool,
) -> Causes:
    """Init containers; `names_in_use` are the names of the other containers."""
    for index, container in enumerate(containers):
        place = f"{path}[{index}]"
        yield from _container(container, place, names_in_use, volumes)
        if container.get("restartPolicy") != "Always":
            for field in _ONLY_SIDECARS:
                if field in container:
                    yield forbidden(f"{place}.{field}", _NEEDS_SIDECAR)
    if host_network:
        yield from _on_host_network(containers, path)


def validate_debug_containers(
    containers: Sequence[Body], path: str, names_in_use: set[str]
) -> Causes:
    """Ephemeral containers; `names_in_use` are the names of the other containers."""
    targets = frozenset(names_in_use)
    seen = set(names_in_use)
    for index, container in enumerate(containers):
        place, target = f"{path}[{index}]", container.get("targetContainerName")
        # which volumes a pod has is checked when it is created
        mounted = {each.get("name", "") for each in container.get("volumeMounts") or ()}
        yield from _container(container, place, seen, mounted)
        for field in _NOT_EPHEMERAL:
            if container.get(field):
                yield forbidden(f"{place}.{field}", "cannot be set for an Ephemeral Container")
        if target and target not in targets:
            yield not_found(f"{place}.targetContainerName", target)


def _container(container: Body, path: str, seen: set[str], volumes: Collection[str]) -> Causes:
    name, image = container.get("name", ""), container.get("image", "")
    if not name:
        yield required(f"{path}.name")
    else:
        yield from all_invalid(f"{path}.name", name, names.dns_label(name))
    if name in seen:
        yield duplicate(f"{path}.name", name)
    seen.add(name)
    if not image:
        yield required(f"{path}.image")
    elif image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")
    if "ports" in container:
        yield from _ports(container["ports"], f"{path}.ports")
    if "env" in container:
        yield from _environment(container["env"], f"{path}.env")
    if "volumeMounts" in container:
        yield from _mounts(container["volumeMounts"], f"{path}.volumeMounts", volumes)
    resources = container.get("resources")
    if resources:
        yield from validate_requirements(resources, f"{path}.resources")
    yield from _policies(container, path)


def _policies(container: Body, path: str) -> Causes:
    for field, supported in (
        ("imagePullPolicy", _PULL_POLICIES),
        ("terminationMessagePolicy", _MESSAGE_POLICIES),
        ("restartPolicy", _RESTART_POLICIES),
    ):
        policy = container.get(field)
        if policy is not None and policy not in supported:
            yield not_supported(f"{path}.{field}", policy, supported)


def _ports(ports: Sequence[Body], path: str) -> Causes:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        place = f"{path}[{index}]"
        name = port.get("name", "")
        if name:
            problems = names.port_name(name)
            yield from all_invalid(f"{place}.name", name, problems)
            if not problems and name in seen:
                yield duplicate(f"{place}.name", name)
            seen.add(name)
        yield from _port(port, place)


def _port(port: Body, path: str) -> Causes:
    number, host = port.get("containerPort", 0), port.get("hostPort", 0)
    if number == 0:
        yield required(f"{path}.containerPort")
    else:
        yield from all_invalid(f"{path}.containerPort", number, names.port_number(number))
    if host:
        yield from all_invalid(f"{path}.hostPort", host, names.port_number(host))
    protocol = port.get("protocol", "")
    if not protocol:
        yield required(f"{path}.protocol")
    elif protocol not in PROTOCOLS:
        yield not_supported(f"{path}.protocol", protocol, PROTOCOLS)


def _environment(variables: Sequence[Body], path: str) -> Causes:
    for index, variable in enumerate(variables):
        place, name = f"{path}[{index}]", variable.get("name", "")
        if not name:
            yield required(f"{place}.name")
        else:
            yield from all_invalid(f"{place}.name", name, names.environment_name(name))
        if variable.get("value") and variable.get("valueFrom"):
            yield invalid(
                f"{place}.valueFrom", "", "may not be specified when `value` is not empty"
            )


def _mounts(mounts: Sequence[Body], path: str, volumes: Collection[str]) -> Causes:
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        place, name, target = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{place}.name")
        if name not in volumes:
            yield not_found(f"{place}.name", name)
        if not target:
            yield required(f"{place}.mountPath")
        if target in seen:
            yield invalid(f"{place}.mountPath", target, "must be unique")
        seen.add(target)


def _host_ports(containers: Sequence[Body], path: str, host_network: bool) -> Causes:
    """Host ports must be unique."""
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports", ())):
            if not port.get("hostPort"):
                continue
            asked = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if asked in seen:
                yield duplicate(f"{path}[{index}].ports[{position}].hostPort", asked)
            seen.add(asked)
    if host_network:
        yield from _on_host_network(containers, path)


def _on_host_network(containers: Sequence[Body], path: str) -> Causes:
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports", ())):
            host = port.get("hostPort", 0)
            if host != port.get("containerPort", 0):
                yield invalid(
                    f"{path}[{index}].ports[{position}].hostPort",
                    host,
                    "must match `containerPort` when `hostNetwork` is true",
                )

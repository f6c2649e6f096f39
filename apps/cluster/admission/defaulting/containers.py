"""Defaults of containers: image pull policy, ports, probes, environment."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from apps.cluster.admission.defaulting.resources import default_requirements
from apps.cluster.admission.draft import Body, child, drop_empty

_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS: Final = ("postStart", "preStop")
_PROBE_NUMBERS: Final = (
    ("timeoutSeconds", 1),
    ("periodSeconds", 10),
    ("successThreshold", 1),
    ("failureThreshold", 3),
)
_DROPPED: Final = frozenset(
    ("command", "args", "workingDir", "env", "envFrom", "ports", "volumeMounts")
) | frozenset(("volumeDevices", "resizePolicy", "stdin", "stdinOnce", "tty", "image"))
#: A valid image: an optional registry, a path of lower-case names, an optional tag and digest.
_IMAGE: Final = re.compile(
    r"(?:[A-Za-z0-9.-]+(?::[0-9]+)?/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
    r"(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
    r"(?P<tag>:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?P<digest>@[A-Za-z0-9_.+-]+:[0-9a-fA-F]{32,})?"
)


def default_containers(containers: Iterable[Body]) -> None:
    """Set the defaults of each container."""
    for container in containers:
        _default_container(container)


def pull_policy(image: str) -> str:
    """Always for the tag `latest`, which is the default without tag and digest."""
    parts = _IMAGE.fullmatch(image)
    if parts is None:
        return "IfNotPresent"
    latest = parts["tag"] == ":latest" or not (parts["tag"] or parts["digest"])
    return "Always" if latest else "IfNotPresent"


def host_ports_from_container_ports(containers: Iterable[Body]) -> None:
    """On the host's network every container port is a host port."""
    for container in containers:
        for port in container.get("ports", ()):
            if not port.get("hostPort") and port.get("containerPort"):
                port["hostPort"] = port["containerPort"]


def default_field_ref(holder: Body) -> None:
    """Defaults of an environment source or a downward API item."""
    if "fieldRef" in holder:
        holder["fieldRef"].setdefault("apiVersion", "v1")
    if "resourceFieldRef" in holder:
        holder["resourceFieldRef"].setdefault("divisor", "0")


def _default_container(container: Body) -> None:
    for name in _DROPPED & container.keys():
        drop_empty(container, name)
    default_requirements(child(container, "resources"))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    for port in container.get("ports", ()):
        drop_empty(port, "hostPort", "name", "hostIP", "protocol")
        port.setdefault("protocol", "TCP")
    for variable in container.get("env", ()):
        drop_empty(variable, "value")
        default_field_ref(variable.get("valueFrom", {}))
    for mount in container.get("volumeMounts", ()):
        drop_empty(mount, "readOnly", "subPath", "subPathExpr")
    for name in _PROBES:
        if name in container:
            _default_probe(container[name])
    lifecycle = container.get("lifecycle", {})
    for name in _HOOKS:
        _default_handler(lifecycle.get(name, {}))


def _default_probe(probe: Body) -> None:
    _default_handler(probe)
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")
    drop_empty(probe, "initialDelaySeconds")
    for name, number in _PROBE_NUMBERS:
        if not probe.get(name):
            probe[name] = number


def _default_handler(handler: Body) -> None:
    get = handler.get("httpGet")
    if get is not None:
        get["path"] = get.get("path") or "/"
        get["scheme"] = get.get("scheme") or "HTTP"

"""Probes and lifecycle hooks of containers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    forbidden,
    invalid,
    not_supported,
    required,
)

Body = Mapping[str, Any]

_PROBE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_SCHEMES: Final = ("HTTP", "HTTPS")
_COUNTS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_HEADER: Final = "[-A-Za-z0-9]+"
_NOT_A_HEADER: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
    f"regex used for validation is '{_HEADER}')"
)


def validate_handlers(container: Body, path: str, grace_period: int) -> Causes:
    """The hooks and probes of a container; `grace_period` is the pod's, in seconds."""
    for hook in ("postStart", "preStop"):
        handler = (container.get("lifecycle") or {}).get(hook)
        if handler is not None:
            yield from _handler(handler, f"{path}.lifecycle.{hook}", _HOOK_HANDLERS, grace_period)
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name in container:
            yield from _probe(container[name], f"{path}.{name}", name, grace_period)


def _probe(probe: Body, path: str, name: str, grace_period: int) -> Causes:
    yield from _handler(probe, path, _PROBE_HANDLERS, grace_period)
    for field in _COUNTS:
        if probe.get(field, 0) < 0:
            yield invalid(f"{path}.{field}", probe[field], names.NOT_NEGATIVE)
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")
    if name == "readinessProbe":
        if grace is not None:
            place = f"{path}.terminationGracePeriodSeconds"
            yield invalid(place, grace, "must not be set for readinessProbes")
    elif probe.get("successThreshold", 1) != 1:
        yield invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")


def _handler(handler: Body, path: str, kinds: tuple[str, ...], grace_period: int) -> Causes:
    """Exactly one action; only the first one is checked."""
    given = [kind for kind in kinds if handler.get(kind) is not None]
    if not given:
        yield required(path, "must specify a handler type")
        return
    yield from _action(given[0], handler[given[0]], f"{path}.{given[0]}", grace_period)
    for kind in given[1:]:
        yield forbidden(f"{path}.{kind}", "may not specify more than 1 handler type")


def _action(kind: str, action: Body, path: str, grace_period: int) -> Causes:
    match kind:
        case "exec":
            if not action.get("command"):
                yield required(f"{path}.command")
        case "httpGet":
            yield from _http_get(action, path)
        case "sleep":
            seconds = action.get("seconds", 0)
            if not 0 <= seconds <= grace_period:
                limit = f"terminationGracePeriodSeconds ({grace_period})"
                yield invalid(path, seconds, f"must be non-negative and less than {limit}")
        case _:
            yield from _port(action.get("port", 0), f"{path}.port")


def _http_get(action: Body, path: str) -> Causes:
    if not action.get("path"):
        yield required(f"{path}.path")
    yield from _port(action.get("port", 0), f"{path}.port")
    scheme = action.get("scheme", "")
    if scheme not in _SCHEMES:
        yield not_supported(f"{path}.scheme", scheme, _SCHEMES)
    for header in action.get("httpHeaders") or ():
        if not re.fullmatch(_HEADER, header.get("name", "")):
            yield invalid(f"{path}.httpHeaders", header.get("name", ""), _NOT_A_HEADER)


def _port(port: int | str, path: str) -> Causes:
    """A number, or the name of a port."""
    problems = names.port_name(port) if isinstance(port, str) else names.port_number(port)
    yield from all_invalid(path, port, problems)

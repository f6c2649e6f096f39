"""Fields of a pod and its containers, as environment variables and files refer to them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from apps import quantity
from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, all_invalid, invalid, not_supported, required

Body = Mapping[str, Any]

#: The fields that an environment variable may have as its value.
OF_VARIABLES: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
#: The fields that a file may contain.
OF_FILES: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_KNOWN: Final = frozenset(
    (*OF_VARIABLES, *OF_FILES, "spec.restartPolicy", "spec.schedulerName", "status.phase")
)
_AMOUNTS: Final = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_SUBSCRIPTED: Final = re.compile(r"(?s)(?=.*+(?<='\]))(.*)\['(.*)'\]")
_BYTES: Final = ("", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DIVISORS: Final = ", ".join(f"1{unit}" for unit in _BYTES)


def validate_field_reference(reference: Body, path: str, supported: Collection[str]) -> Causes:
    """A field of the pod, possibly one label or annotation."""
    field = reference.get("fieldPath", "")
    if not reference.get("apiVersion"):
        yield required(f"{path}.apiVersion")
        return
    if not field:
        yield required(f"{path}.fieldPath")
        return
    subscripted = _SUBSCRIPTED.fullmatch(field)
    if subscripted:
        yield from _subscripted(field, subscripted[1], subscripted[2], path)
    elif field not in _KNOWN:
        problem = f"error converting fieldPath: field label not supported: {field}"
        yield invalid(f"{path}.fieldPath", field, problem)
    elif field not in supported:
        yield not_supported(f"{path}.fieldPath", field, supported)


def _subscripted(field: str, holder: str, key: str, path: str) -> Causes:
    if holder == "metadata.annotations":
        yield from all_invalid(path, key.lower(), names.qualified_name(key.lower()))
    elif holder == "metadata.labels":
        yield from all_invalid(path, key, names.qualified_name(key))
    else:
        problem = f"error converting fieldPath: field label does not support subscript: {field}"
        yield invalid(f"{path}.fieldPath", field, problem)


def validate_resource_reference(reference: Body, path: str, *, of_file: bool) -> Causes:
    """A request or limit of a container; files must name the container."""
    resource = reference.get("resource", "")
    if of_file and not reference.get("containerName"):
        yield required(f"{path}.containerName")
    elif not resource:
        yield required(f"{path}.resource")
    elif resource not in _AMOUNTS and not resource.startswith(_HUGE_PAGES):
        yield not_supported(f"{path}.resource", resource, _AMOUNTS)
    divisor = reference.get("divisor")
    if divisor and quantity.parse(divisor).nanos:
        yield from _divisor(resource, str(divisor), f"{path}.divisor")


def _divisor(resource: str, divisor: str, path: str) -> Causes:
    kind = resource.partition(".")[2]
    if kind == "cpu":
        if divisor not in ("1m", "1"):
            problem = "only divisor's values 1m and 1 are supported with the cpu resource"
            yield invalid(path, resource, problem)
        return
    name = {"ephemeral-storage": "local ephemeral storage"}.get(kind, kind.partition("-")[0])
    if kind and divisor.removeprefix("1") not in _BYTES:
        problem = f"only divisor's values {_DIVISORS} are supported with the {name} resource"
        yield invalid(path, resource, problem)

"""APIServices: which server answers for a group and version."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, all_invalid, invalid, required

Body = Mapping[str, Any]


_LAST_PORT: Final = 65_535


def validate_registration(registration: Body) -> Causes:
    """An APIService."""
    spec = registration.get("spec") or {}
    group, version = spec.get("group", ""), spec.get("version", "")
    name, wanted = registration["metadata"].get("name", ""), f"{version}.{group}"
    if name and name != wanted:
        why = f'must be `spec.version+"."+spec.group`: "{wanted}"'
        yield invalid("metadata.name", name, why)
    if group:
        yield from all_invalid("spec.group", group, names.dns_subdomain(group))
    elif version != "v1":
        yield required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    yield from all_invalid("spec.version", version, names.service_label(version))
    for field, most in (("groupPriorityMinimum", 20_000), ("versionPriority", 1000)):
        priority = spec.get(field, 0)
        if not 0 < priority <= most:
            why = f"must be positive and less than {most}"
            yield invalid(f"spec.{field}", priority, why)
    service = spec.get("service")
    if service is not None:
        for field in ("namespace", "name"):
            if not service.get(field):
                yield required(f"spec.service.{field}")
        port = service.get("port")
        if port is not None and not 1 <= port <= _LAST_PORT:
            why = f"port is not valid: must be between 1 and {_LAST_PORT}, inclusive"
            yield invalid("spec.service.port", port, why)
    elif spec.get("caBundle") or spec.get("insecureSkipTLSVerify"):
        yield from _local(spec)
        return
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        yield invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present")


def _local(spec: Body) -> Causes:
    """Nothing is verified where the API server itself answers."""
    if bundle := spec.get("caBundle"):
        shown = f"{len(base64.b64decode(bundle))} bytes"
        yield invalid("spec.caBundle", shown, "local APIServices may not have a caBundle")
    if spec.get("insecureSkipTLSVerify"):
        why = "local APIServices may not have insecureSkipTLSVerify"
        yield invalid("spec.insecureSkipTLSVerify", True, why)

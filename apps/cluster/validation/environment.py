"""Environment variables of containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, all_invalid, invalid, required
from apps.cluster.validation.field_references import (
    OF_VARIABLES,
    validate_field_reference,
    validate_resource_reference,
)

Body = Mapping[str, Any]

_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_NO_SOURCE: Final = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
    "`fileKeyRef`"
)
_TOO_MANY: Final = "may not have more than one field specified at a time"


def validate_environment(variables: Sequence[Body], path: str) -> Causes:
    """env: names, and one source each."""
    for index, variable in enumerate(variables):
        place, name = f"{path}[{index}]", variable.get("name", "")
        if not name:
            yield required(f"{place}.name")
        else:
            yield from all_invalid(f"{place}.name", name, names.environment_name(name))
        if variable.get("valueFrom") is not None:
            yield from _value_from(variable, f"{place}.valueFrom")


def validate_environment_sources(sources: Sequence[Body], path: str) -> Causes:
    """envFrom: a ConfigMap or a Secret each."""
    for index, source in enumerate(sources):
        place, prefix = f"{path}[{index}]", source.get("prefix")
        if prefix:
            yield from all_invalid(f"{place}.prefix", prefix, names.environment_name(prefix))
        kinds = [kind for kind in ("configMapRef", "secretRef") if source.get(kind) is not None]
        for kind in kinds:
            yield from _object_name(source[kind], f"{place}.{kind}")
        if not kinds:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(kinds) > 1:
            yield invalid(path, "", _TOO_MANY)


def _value_from(variable: Body, path: str) -> Causes:
    source = variable["valueFrom"]
    kinds = [kind for kind in _SOURCES if source.get(kind) is not None]
    for kind in kinds:
        yield from _source(kind, source[kind], f"{path}.{kind}")
    if not kinds:
        yield invalid(path, "", _NO_SOURCE)
    elif variable.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(kinds) > 1:
        yield invalid(path, "", _TOO_MANY)


def _source(kind: str, source: Body, path: str) -> Causes:
    match kind:
        case "fieldRef":
            yield from validate_field_reference(source, path, OF_VARIABLES)
        case "resourceFieldRef":
            yield from validate_resource_reference(source, path, of_file=False)
        case "configMapKeyRef" | "secretKeyRef":
            name, key = source.get("name", ""), source.get("key", "")
            yield from all_invalid(f"{path}.name", name, names.dns_subdomain(name))
            if not key:
                yield required(f"{path}.key")
            else:
                yield from all_invalid(f"{path}.key", key, names.config_key(key))


def _object_name(reference: Body, path: str) -> Causes:
    name = reference.get("name", "")
    if not name:
        yield required(f"{path}.name")
    else:
        yield from all_invalid(f"{path}.name", name, names.dns_subdomain(name))

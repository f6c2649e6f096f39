"""Volumes with files from the API: ConfigMaps, Secrets, fields of the pod, tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.validation.causes import Causes, forbidden, invalid, required
from apps.cluster.validation.field_references import (
    OF_FILES,
    validate_field_reference,
    validate_resource_reference,
)
from apps.cluster.validation.local_paths import (
    validate_file_mode,
    validate_file_path,
    validate_files,
)

Body = Mapping[str, Any]

_MIN_TOKEN_SECONDS: Final = 600
_MAX_TOKEN_SECONDS: Final = 2**32
_OBJECTS: Final = ("secret", "configMap")
_KINDS: Final = (*_OBJECTS, "downwardAPI", "serviceAccountToken", "clusterTrustBundle")


def validate_files_of_source(kind: str, source: Body, path: str) -> Causes:
    """A source of the kind secret, configMap, downwardAPI or projected."""
    if kind in (*_OBJECTS, "downwardAPI", "projected"):
        yield from validate_file_mode(source.get("defaultMode"), f"{path}.defaultMode")
    if kind in _OBJECTS:
        yield from validate_files(source.get("items") or (), f"{path}.items")
    elif kind == "downwardAPI":
        for file in source.get("items") or ():
            yield from _downward_file(file, path)
    elif kind == "projected":
        yield from _projections(source, path)


def _downward_file(file: Body, path: str) -> Causes:
    field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if not file.get("path"):
        yield required(f"{path}.path")
    yield from validate_file_path(file.get("path", ""), f"{path}.path")
    if field is not None:
        yield from validate_field_reference(field, f"{path}.fieldRef", OF_FILES)
        if resource is not None:
            problem = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid(path, "resource", problem)
    elif resource is not None:
        yield from validate_resource_reference(resource, f"{path}.resourceFieldRef", of_file=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from validate_file_mode(file.get("mode"), f"{path}.mode")


def _projections(projected: Body, path: str) -> Causes:
    seen: set[str] = set()
    for index, source in enumerate(projected.get("sources") or ()):
        place = f"{path}.sources[{index}]"
        kinds = [kind for kind in _KINDS if source.get(kind) is not None]
        for kind in kinds:
            yield from _projection(kind, source[kind], f"{place}.{kind}", path, seen)
        if len(kinds) > 1:
            yield forbidden(place, "may not specify more than 1 volume type per source")


def _projection(kind: str, source: Body, place: str, path: str, seen: set[str]) -> Causes:
    if kind in _OBJECTS:
        if not source.get("name"):
            yield required(f"{place}.name")
        yield from validate_files(source.get("items") or (), f"{place}.items")
    elif kind == "downwardAPI":
        for file in source.get("items") or ():
            yield from _downward_file(file, place)
    elif kind == "serviceAccountToken":
        yield from _token(source, place, path)
    for file in source.get("items") or ():
        target = file.get("path", "")
        if target in seen:
            shown = target if kind == "downwardAPI" else source.get("name", "")
            yield invalid(path, shown, "conflicting duplicate paths")
        elif target:
            seen.add(target)


def _token(source: Body, place: str, path: str) -> Causes:
    seconds = source.get("expirationSeconds", 0)
    if seconds < _MIN_TOKEN_SECONDS:
        problem = "may not specify a duration less than 10 minutes"
        yield invalid(f"{place}.expirationSeconds", seconds, problem)
    if seconds > _MAX_TOKEN_SECONDS:
        problem = "may not specify a duration larger than 2^32 seconds"
        yield invalid(f"{place}.expirationSeconds", seconds, problem)
    if not source.get("path"):
        yield required(f"{path}.path")
    else:
        yield from validate_file_path(source["path"], f"{path}.path")

"""Volumes in a container: mounted, and as block devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.validation.causes import (
    Causes,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from apps.cluster.validation.local_paths import has_backsteps, validate_relative_path

Body = Mapping[str, Any]

_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY: Final = ("Disabled", "Enabled", "IfPossible")
_NOT_IN_IMAGES: Final = "not allowed in image volume sources"
_NOT_A_CLAIM: Final = (
    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
)


def validate_mounts(container: Body, path: str, volumes: Mapping[str, Body]) -> Causes:
    """volumeMounts; `volumes` are those of the pod, by name."""
    devices: Sequence[Body] = container.get("volumeDevices") or ()
    seen: set[str] = set()
    for index, mount in enumerate(container["volumeMounts"]):
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
        if any(device.get("name") == name for device in devices):
            yield invalid(f"{place}.name", name, "must not already exist in volumeDevices")
        if any(device.get("devicePath") == target for device in devices):
            problem = "must not already exist as a path in volumeDevices"
            yield invalid(f"{place}.mountPath", target, problem)
        yield from _part_of_volume(mount, path, place, volumes)
        yield from _modes(mount, path, container)


def _part_of_volume(mount: Body, path: str, place: str, volumes: Mapping[str, Body]) -> Causes:
    """subPath and subPathExpr. As in the API server, some errors name the list of mounts."""
    part, expression = mount.get("subPath"), mount.get("subPathExpr")
    if "image" in volumes.get(mount.get("name", ""), {}):
        for field, value in (("subPath", part), ("subPathExpr", expression)):
            if value:
                yield invalid(f"{place}.{field}", value, _NOT_IN_IMAGES)
    if part:
        yield from validate_relative_path(part, f"{path}.subPath")
    if expression:
        if part:
            problem = "subPathExpr and subPath are mutually exclusive"
            yield invalid(f"{place}.subPathExpr", expression, problem)
        yield from validate_relative_path(expression, f"{path}.subPathExpr")


def _modes(mount: Body, path: str, container: Body) -> Causes:
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        if propagation not in _PROPAGATIONS:
            yield not_supported(f"{path}.mountPropagation", propagation, _PROPAGATIONS)
        privileged = (container.get("securityContext") or {}).get("privileged")
        if propagation == "Bidirectional" and not privileged:
            yield forbidden(
                f"{path}.mountPropagation",
                "Bidirectional mount propagation is available only to privileged containers",
            )
    read_only = mount.get("recursiveReadOnly")
    if read_only is None or read_only == "Disabled":
        return
    place = f"{path}.recursiveReadOnly"
    if read_only not in _READ_ONLY:
        yield not_supported(place, read_only, _READ_ONLY)
        return
    if not mount.get("readOnly"):
        yield forbidden(place, "may only be specified when readOnly is true")
    if propagation not in (None, "None"):
        yield forbidden(
            place, "may only be specified when mountPropagation is None or not specified"
        )


def validate_devices(container: Body, path: str, volumes: Mapping[str, Body]) -> Causes:
    """volumeDevices; `volumes` are those of the pod, by name."""
    mounts: Sequence[Body] = container.get("volumeMounts") or ()
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container["volumeDevices"]):
        place, name = f"{path}[{index}]", device.get("name", "")
        target = device.get("devicePath", "")
        yield from _device_name(name, f"{place}.name", names, volumes)
        yield from _device_path(target, f"{place}.devicePath", paths)
        if any(mount.get("name") == name for mount in mounts):
            yield invalid(f"{place}.name", name, "must not already exist in volumeMounts")
        if any(mount.get("mountPath") == target for mount in mounts):
            problem = "must not already exist as a path in volumeMounts"
            yield invalid(f"{place}.devicePath", target, problem)


def _device_name(name: str, path: str, seen: set[str], volumes: Mapping[str, Body]) -> Causes:
    if not name:
        yield required(path)
    if name in seen:
        yield invalid(path, name, "must be unique")
    volume = volumes.get(name)
    if volume is None:
        yield not_found(path, name)
    elif not {"persistentVolumeClaim", "ephemeral"} & set(volume):
        yield invalid(path, name, _NOT_A_CLAIM)
    if name:
        seen.add(name)


def _device_path(target: str, path: str, seen: set[str]) -> Causes:
    if not target:
        yield required(path)
    if target in seen:
        yield invalid(path, target, "must be unique")
    if has_backsteps(target):
        yield invalid(path, target, "can not contain backsteps ('..')")
    else:
        seen.add(target)

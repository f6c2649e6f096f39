"""Security contexts of pods and containers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.schema.go_types import internal
from apps.cluster.validation.causes import (
    Causes,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apps.cluster.validation.local_paths import validate_relative_path

Body = Mapping[str, Any]

_MAX_ID: Final = 2**31 - 1
_NOT_AN_ID: Final = f"must be between 0 and {_MAX_ID}, inclusive"
_PROC_MOUNTS: Final = ("Default", "Unmasked")
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL_PART: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = rf"({_SYSCTL_PART}[\./])*{_SYSCTL_PART}"
_NOT_A_SYSCTL: Final = f"must have at most 253 characters and match regex ^{_SYSCTL}$"
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
    "seLinuxChangePolicy": ("MountOption", "Recursive"),
}
_NOT_WINDOWS: Final = "cannot be set for a windows pod"
_LINUX_OF_POD: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "shareProcessNamespace",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
)
_LINUX_OF_SPEC: Final = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
_LINUX_OF_CONTAINER: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def validate_container_security(context: Body, path: str, *, host_users: bool) -> Causes:
    """The security context of a container."""
    yield from _identities(context, path, ("runAsUser", "runAsGroup"))
    mount = context.get("procMount")
    if mount is not None and mount not in _PROC_MOUNTS:
        yield not_supported(f"{path}.procMount", mount, _PROC_MOUNTS)
    if mount == "Unmasked" and host_users:
        problem = "`hostUsers` must be false to use `Unmasked`"
        yield invalid(f"{path}.procMount", mount, problem)
    yield from _profiles(context, path)
    if context.get("allowPrivilegeEscalation") is False:
        shown = internal("core.SecurityContext", context)
        start = "cannot set `allowPrivilegeEscalation`"
        if context.get("privileged"):
            yield invalid(path, shown, f"{start} to false and `privileged` to true")
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            yield invalid(path, shown, f"{start} to false and `capabilities.Add` CAP_SYS_ADMIN")


def validate_pod_security(context: Body, spec: Body, path: str) -> Causes:
    """The security context of a pod with this spec."""
    yield from _identities(context, path, ("fsGroup", "runAsUser", "runAsGroup"))
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        if not 0 <= group <= _MAX_ID:
            yield invalid(f"{path}.supplementalGroups[{index}]", group, _NOT_AN_ID)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        problem = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{path}.shareProcessNamespace", True, problem)
    yield from _sysctls(context.get("sysctls") or (), spec, f"{path}.sysctls")
    yield from _choice(context, path, "fsGroupChangePolicy")
    yield from _profiles(context, path)
    yield from _choice(context, path, "supplementalGroupsPolicy")
    yield from _choice(context, path, "seLinuxChangePolicy")


def validate_host_users(spec: Body, path: str) -> Causes:
    """A pod with a user namespace of its own shares no other namespace with the host."""
    if spec.get("hostUsers") is not False:
        return
    for field, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID")):
        if spec.get(field):
            yield forbidden(f"{path}.{shown}", "when `hostUsers` is false")
    if spec.get("hostIPC"):
        yield forbidden(f"{path}.HostIPC", "when `hostUsers` is false")


def validate_system_fields(spec: Body, path: str, system: str) -> Causes:
    """A pod for Linux has no fields for Windows, and the other way round."""
    context = spec.get("securityContext") or {}
    contexts = [
        (container.get("securityContext") or {}, f"{path}.{field}[{index}].securityContext")
        for field in ("initContainers", "containers")
        for index, container in enumerate(spec.get(field) or ())
    ]
    if system == "linux":
        for each, place in ((context, f"{path}.securityContext"), *contexts):
            if "windowsOptions" in each:
                problem = "windows options cannot be set for a linux pod"
                yield forbidden(f"{place}.windowsOptions", problem)
        return
    for field in _LINUX_OF_POD:
        if field in _LINUX_OF_SPEC and spec.get(field):
            yield forbidden(f"{path}.{field}", _NOT_WINDOWS)
        elif context.get(field) is not None:
            yield forbidden(f"{path}.securityContext.{field}", _NOT_WINDOWS)
    for each, place in contexts:
        for field in _LINUX_OF_CONTAINER:
            if each.get(field) is not None:
                yield forbidden(f"{place}.{field}", _NOT_WINDOWS)


def _identities(context: Body, path: str, fields: Sequence[str]) -> Causes:
    for field in fields:
        identity = context.get(field)
        if identity is not None and not 0 <= identity <= _MAX_ID:
            yield invalid(f"{path}.{field}", identity, _NOT_AN_ID)


def _choice(context: Body, path: str, field: str) -> Causes:
    choice = context.get(field)
    if choice is not None and choice not in _CHOICES[field]:
        yield not_supported(f"{path}.{field}", choice, _CHOICES[field])


def _profiles(context: Body, path: str) -> Causes:
    if context.get("seccompProfile") is not None:
        yield from _profile(context["seccompProfile"], f"{path}.seccompProfile", "seccomp")
    if context.get("appArmorProfile") is not None:
        yield from _profile(context["appArmorProfile"], f"{path}.appArmorProfile", "AppArmor")


def _profile(profile: Body, path: str, system: str) -> Causes:
    kind, local, place = profile.get("type", ""), profile.get("localhostProfile"), ""
    if not kind:
        holder = path.rpartition(".")[2]
        yield required(f"{path}.type", f"type is required when {holder} is set")
    elif kind not in _PROFILES:
        yield not_supported(f"{path}.type", kind, _PROFILES)
    place = f"{path}.localhostProfile"
    if kind == "Localhost":
        if not local:
            yield required(place, f"must be set when {system} type is Localhost")
        elif system == "seccomp":
            yield from validate_relative_path(local, place)
        elif local != local.strip():
            yield invalid(place, local, "must not be padded with whitespace")
    elif local is not None and kind in _PROFILES:
        yield invalid(place, local, f"can only be set when {system} type is Localhost")


def _sysctls(sysctls: Sequence[Body], spec: Body, path: str) -> Causes:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        place, name = f"{path}[{index}].name", sysctl.get("name", "")
        if not name:
            yield required(place)
        elif len(name) > 253 or not re.fullmatch(_SYSCTL, name):
            yield invalid(place, name, _NOT_A_SYSCTL)
        elif name in seen:
            yield duplicate(place, name)
        seen.add(name)
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith("net."):
            yield invalid(place, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and dotted.startswith(("kernel.shm", "kernel.msg", "fs.mqueue.")):
            yield invalid(place, name, "may not be specified when 'hostIPC' is true")

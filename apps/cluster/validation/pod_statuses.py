"""The status of a pod, as its kubelet writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.addresses import read_address, validate_address
from apps.cluster.validation.causes import (
    IMMUTABLE,
    Causes,
    all_invalid,
    duplicate,
    forbidden,
    invalid,
)

Body = Mapping[str, Any]

_ONE_OF_EACH: Final = "may specify no more than one IP for each IP family"
_STOPPED: Final = "may not be transitioned to non-terminated state"


def validate_pod_status(pod: Body, old: Body) -> Causes:
    """An update of `/status`."""
    status, before = pod.get("status") or {}, old.get("status") or {}
    name = status.get("nominatedNodeName")
    if name:
        yield from all_invalid("status.nominatedNodeName", name, names.dns_subdomain(name))
    if status.get("observedGeneration", 0) < 0:
        number = status["observedGeneration"]
        yield invalid("status.observedGeneration", number, "must be a non-negative integer")
    for field in ("containerStatuses", "initContainerStatuses"):
        yield from _restarts(pod["spec"], status.get(field) or (), before.get(field) or (), field)
    claims = pod["spec"].get("resourceClaims") or ()
    yield from _claims(status.get("resourceClaimStatuses") or (), claims)
    if before.get("qosClass") and status.get("qosClass") != before["qosClass"]:
        yield invalid("status.qosClass", status.get("qosClass"), IMMUTABLE)
    hosts = status.get("hostIPs") or ()
    if hosts and hosts[0].get("ip") != status.get("hostIP", ""):
        yield invalid("status.hostIPs[0].ip", hosts[0].get("ip"), "must be equal to `hostIP`")
    yield from _addresses(status.get("podIPs") or (), "status.podIPs")
    yield from _addresses(hosts, "status.hostIPs")
    for index, condition in enumerate(status.get("conditions") or ()):
        kind = condition.get("type", "")
        path = f"status.conditions[{index}].Type"
        yield from all_invalid(path, kind, names.qualified_name(kind))


def _restarts(spec: Body, after: Sequence[Body], before: Sequence[Body], field: str) -> Causes:
    """A container that has ended starts again only if its pod restarts it."""
    policy = spec.get("restartPolicy")
    if policy == "Always":
        return
    states = {each.get("name"): each.get("state") or {} for each in after}
    for index, was in enumerate(before):
        ended = (was.get("state") or {}).get("terminated")
        if ended is None or (policy == "OnFailure" and ended.get("exitCode", 0) != 0):
            continue
        if was.get("name") in states and states[was.get("name")].get("terminated") is None:
            yield forbidden(f"status.{field}[{index}].state", _STOPPED)


def _claims(statuses: Sequence[Body], claims: Sequence[Body]) -> Causes:
    known, seen = {each.get("name") for each in claims}, set[str]()
    for index, status in enumerate(statuses):
        path, name = f"status.resourceClaimStatuses[{index}]", status.get("name", "")
        if name not in known:
            detail = "must match the name of an entry in `spec.resourceClaims`"
            yield invalid(f"{path}.name", name, detail)
        if name in seen:
            yield duplicate(path, name)
        seen.add(name)
        claim = status.get("resourceClaimName")
        if claim is not None:
            yield from all_invalid(f"{path}.resourceClaimName", claim, names.dns_subdomain(claim))


def _addresses(listed: Sequence[Body], path: str) -> Causes:
    texts = [each.get("ip", "") for each in listed]
    for index, text in enumerate(texts):
        yield from validate_address(text, f"{path}[{index}]")
    families = [address.version for text in texts if (address := read_address(text))]
    if len(texts) > 1 and sorted(families) != [4, 6]:
        yield invalid(path, [{"IP": text} for text in texts], _ONE_OF_EACH)

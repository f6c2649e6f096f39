"""The usage of one object, in the resources that a ResourceQuota can limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from apps import quantity
from apps.cluster.kind import Kind, Quota, Usage
from apps.cluster.pods.resources import Amounts, aggregate, containers, is_pod_level
from apps.cluster.validation.quantities import is_extended
from apps.quantity import Parsed

Body = Mapping[str, Any]

_ONE: Final = Parsed(10**9, "DecimalSI")
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
#: With a quota of one of these, every container must specify its amount.
_REQUIRED: Final = frozenset(
    {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)
_OF_PODS: Final = frozenset(
    {
        "pods",
        *_COMPUTE,
        *(f"requests.{name}" for name in _COMPUTE),
        *(f"limits.{name}" for name in _COMPUTE),
    }
)
_OF_CLAIMS: Final = frozenset({"persistentvolumeclaims", "requests.storage"})
_OF_CLASS: Final = ".storageclass.storage.k8s.io/"
_OF_SERVICES: Final = frozenset({"services", "services.nodeports", "services.loadbalancers"})


def countable(kind: Kind) -> bool:
    """Whether quotas count objects of this kind."""
    return kind.namespaced and not kind.is_record


def usage_of(kind: Kind, body: Body) -> Usage:
    """Everything the object uses; a pod that has ended only counts as an object."""
    used = {f"count/{kind.qualified_plural}": _ONE}
    if kind.quota is not None:
        used |= kind.quota.measure(body)
    elif kind.counted_by_plural:
        used[kind.plural] = _ONE
    return used


def covered_resources(kind: Kind, resources: Iterable[str]) -> set[str]:
    """The resources of a quota that objects of this kind can use."""
    return {name for name in resources if _is_resource_of(kind, name)}


def missing_resources(pod: Body, resources: Iterable[str]) -> str:
    """What the containers must specify under a quota of `resources` but do not; may be empty.

    `limits.cpu for: a,b; memory for: a`, as kube-apiserver reports it.
    """
    required = _REQUIRED.intersection(resources)
    missing: dict[str, set[str]] = {}
    for container in containers(pod["spec"]):
        given = container.get("resources") or {}
        specified = _compute_resources(_parse(given.get("requests")), _parse(given.get("limits")))
        for name in required - specified.keys():
            missing.setdefault(name, set()).add(container["name"])
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def add(left: Mapping[str, Parsed], right: Mapping[str, Parsed], sign: int = 1) -> Usage:
    """`left` plus (with sign -1: minus) the amounts of `right` for the same resources."""
    return {
        name: _sum(amount, right[name], sign) if name in right else amount
        for name, amount in left.items()
    }


def _sum(left: Parsed, right: Parsed, sign: int) -> Parsed:
    notation = left.format if left.nanos else right.format
    return Parsed(max(left.nanos + sign * right.nanos, 0), notation)


def _is_resource_of(kind: Kind, name: str) -> bool:
    if name == f"count/{kind.qualified_plural}":
        return True
    if kind.quota is not None:
        return kind.quota.covers(name)
    return kind.counted_by_plural and name == kind.plural


def _is_of_pods(name: str) -> bool:
    return (
        name in _OF_PODS
        or name.startswith(("hugepages-", "requests.hugepages-"))
        or is_extended(name.removeprefix("requests."))
    )


def _pod_usage(pod: Body) -> Usage:
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return {}
    return {
        "pods": _ONE,
        **_compute_resources(
            _pod_totals(pod["spec"], "requests"), _pod_totals(pod["spec"], "limits")
        ),
    }


def _pod_totals(spec: Body, field: Literal["requests", "limits"]) -> Usage:
    """The sum over containers, or the pod-level value; with the runtime's overhead."""
    nanos: Amounts = aggregate(spec, field)
    own = _parse((spec.get("resources") or {}).get(field))
    nanos |= {name: amount.nanos for name, amount in own.items() if is_pod_level(name)}
    for name, amount in _parse(spec.get("overhead")).items():
        # overhead does not add a limit
        if field == "requests" or nanos.get(name):
            nanos[name] = nanos.get(name, 0) + amount.nanos
    return {name: Parsed(amount, _notation(spec, field, name)) for name, amount in nanos.items()}


def _notation(spec: Body, field: str, resource: str) -> quantity.Format:
    holders = [(each.get("resources") or {}).get(field) for each in (*containers(spec), spec)]
    for given in (*holders, spec.get("overhead")):
        if given and resource in given and quantity.parse(given[resource]).nanos:
            return quantity.parse(given[resource]).format
    return "DecimalSI"


def _compute_resources(requests: Usage, limits: Usage) -> Usage:
    """Requests and limits under their names in quotas."""
    used: Usage = {}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            used[name] = used[f"requests.{name}"] = amount
        elif is_extended(name):
            used[f"requests.{name}"] = amount
    used |= {f"limits.{name}": limits[name] for name in _COMPUTE if name in limits}
    return used


def _claim_usage(claim: Body) -> Usage:
    used: Usage = {"persistentvolumeclaims": _ONE}
    storage = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage")
    if storage is not None:
        used["requests.storage"] = quantity.parse(storage)
    name = claim["spec"].get("storageClassName")
    return used | {f"{name}{_OF_CLASS}{each}": used[each] for each in used if name}


def _service_usage(service: Body) -> Usage:
    spec = service["spec"]
    used: Usage = {"services": _ONE}
    ports = spec.get("ports") or ()
    if spec.get("type") == "LoadBalancer":
        used["services.loadbalancers"] = _ONE
        if spec.get("allocateLoadBalancerNodePorts") is False:
            ports = [port for port in ports if port.get("nodePort")]
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        used["services.nodeports"] = Parsed(len(ports) * 10**9, "DecimalSI")
    return used


def _parse(listed: Body | None) -> Usage:
    return {name: quantity.parse(given) for name, given in (listed or {}).items()}


POD_QUOTA: Final = Quota(_pod_usage, _is_of_pods)
CLAIM_QUOTA: Final = Quota(_claim_usage, lambda name: name in _OF_CLAIMS or _OF_CLASS in name)
SERVICE_QUOTA: Final = Quota(_service_usage, _OF_SERVICES.__contains__)

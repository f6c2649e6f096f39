"""What one object uses of the resources that a ResourceQuota can limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

from apps.cluster.kinds import Kind
from apps.cluster.pods.resources import Amounts, aggregate, containers, is_pod_level
from apps.cluster.validation.quantities import is_extended
from apps.scheduler import quantity
from apps.scheduler.quantity import Parsed

Body = Mapping[str, Any]
#: resource of a quota -> amount, in the notation it was asked for
Usage = dict[str, Parsed]

_ONE: Final = Parsed(10**9, "DecimalSI")
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
#: Quotas of these make it a duty of each container to say how much it takes.
_DUTIES: Final = frozenset(
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
#: Kinds that were counted by their plural before count/… came.
_PLURALS: Final = frozenset({"replicationcontrollers", "resourcequotas"})


def countable(kind: Kind) -> bool:
    """Whether quotas look at objects of this kind."""
    return kind.namespaced and kind.name not in ("Event", "Lease")


def usage_of(kind: Kind, body: Body) -> Usage:
    """Everything the object uses; of a pod that has ended only its place in storage."""
    measure = _MEASURES.get(kind.name)
    used = {f"count/{kind.qualified_plural}": _ONE}
    if measure is not None:
        used |= measure(body)
    elif kind.plural in _PLURALS:
        used[kind.plural] = _ONE
    return used


def covered(kind: Kind, resources: Iterable[str]) -> set[str]:
    """Those of a quota's resources that objects of this kind may use."""
    return {name for name in resources if _is_of(kind, name)}


def missing_from(pod: Body, resources: Iterable[str]) -> str:
    """What the containers must say under a quota of `resources`, and do not; empty if nothing.

    `limits.cpu for: a,b; memory for: a`, as kube-apiserver puts it.
    """
    duties = _DUTIES.intersection(resources)
    silent: dict[str, set[str]] = {}
    for container in containers(pod["spec"]):
        given = container.get("resources") or {}
        told = _compute(_parsed(given.get("requests")), _parsed(given.get("limits")))
        for name in duties - told.keys():
            silent.setdefault(name, set()).add(container["name"])
    return "; ".join(f"{name} for: {','.join(sorted(silent[name]))}" for name in sorted(silent))


def add(left: Mapping[str, Parsed], right: Mapping[str, Parsed], sign: int = 1) -> Usage:
    """`left` and (sign -1: less) what `right` has of the same resources."""
    return {
        name: _sum(amount, right[name], sign) if name in right else amount
        for name, amount in left.items()
    }


def _sum(left: Parsed, right: Parsed, sign: int) -> Parsed:
    notation = left.format if left.nanos else right.format
    return Parsed(max(left.nanos + sign * right.nanos, 0), notation)


def _is_of(kind: Kind, name: str) -> bool:
    if name == f"count/{kind.qualified_plural}":
        return True
    match kind.name:
        case "Pod":
            return (
                name in _OF_PODS
                or name.startswith(("hugepages-", "requests.hugepages-"))
                or is_extended(name.removeprefix("requests."))
            )
        case "PersistentVolumeClaim":
            return name in _OF_CLAIMS or _OF_CLASS in name
        case "Service":
            return name in _OF_SERVICES
    return name == kind.plural and name in _PLURALS


def _pod(pod: Body) -> Usage:
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return {}
    return {
        "pods": _ONE,
        **_compute(_of_pod(pod["spec"], "requests"), _of_pod(pod["spec"], "limits")),
    }


def _of_pod(spec: Body, field: Literal["requests", "limits"]) -> Usage:
    """Containers together, or the pod as a whole; with the runtime's overhead."""
    nanos: Amounts = aggregate(spec, field)
    own = _parsed((spec.get("resources") or {}).get(field))
    nanos |= {name: amount.nanos for name, amount in own.items() if is_pod_level(name)}
    for name, amount in _parsed(spec.get("overhead")).items():
        # what is not limited is not limited by the runtime either
        if field == "requests" or nanos.get(name):
            nanos[name] = nanos.get(name, 0) + amount.nanos
    return {name: Parsed(amount, _notation(spec, field, name)) for name, amount in nanos.items()}


def _notation(spec: Body, field: str, resource: str) -> quantity.Format:
    holders = [(each.get("resources") or {}).get(field) for each in (*containers(spec), spec)]
    for given in (*holders, spec.get("overhead")):
        if given and resource in given and quantity.parse(given[resource]).nanos:
            return quantity.parse(given[resource]).format
    return "DecimalSI"


def _compute(requests: Usage, limits: Usage) -> Usage:
    """Requests and limits under the names that quotas have for them."""
    used: Usage = {}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            used[name] = used[f"requests.{name}"] = amount
        elif is_extended(name):
            used[f"requests.{name}"] = amount
    used |= {f"limits.{name}": limits[name] for name in _COMPUTE if name in limits}
    return used


def _claim(claim: Body) -> Usage:
    used: Usage = {"persistentvolumeclaims": _ONE}
    storage = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage")
    if storage is not None:
        used["requests.storage"] = quantity.parse(storage)
    name = claim["spec"].get("storageClassName")
    return used | {f"{name}{_OF_CLASS}{each}": used[each] for each in used if name}


def _service(service: Body) -> Usage:
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


def _parsed(listed: Body | None) -> Usage:
    return {name: quantity.parse(given) for name, given in (listed or {}).items()}


_MEASURES: Final[Mapping[str, Callable[[Body], Usage]]] = {
    "Pod": _pod,
    "PersistentVolumeClaim": _claim,
    "Service": _service,
}

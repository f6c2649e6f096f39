"""What a pod requests: containers, sidecars, overhead, pod-level resources and resizes.

Amounts are dicts from resource name to an integer, milli-CPU for ``cpu`` and bytes or whole units
for everything else. They are added as exact quantities (in 10⁻⁹ units) and rounded up once, at the
end, as Kubernetes does. The formula is that of KEP-753 (sidecar containers), KEP-2837 (pod-level
resources) and KEP-1287 (in-place resize).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from apps import quantity

if TYPE_CHECKING:
    from apps.scheduler.objects import Container, ContainerStatus, Pod, Quantity, ResourceList

    #: the requests of a container, in its order
    _Requests = tuple[tuple[str, Quantity], ...]

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"
_NATIVE: Final = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})

#: the requests assumed for a container without requests when nodes are scored
DEFAULT_MILLI_CPU: Final = 100
DEFAULT_MEMORY: Final = 200 * 1024 * 1024

_NANO: Final = 10**9
#: amounts are integers of 64 bits with a sign
_HALF: Final = 2**63
_DEFAULTS: Final = {CPU: DEFAULT_MILLI_CPU * 10**6, MEMORY: DEFAULT_MEMORY * _NANO}

#: amounts in 10⁻⁹ units, by resource name
_Nanos = dict[str, int]
#: amounts in thousandths of a CPU or whole units, by resource name
_Amounts = dict[str, int]


@lru_cache(maxsize=4096)
def is_extended(name: str) -> bool:
    """Whether this is an extended resource (``example.com/gpu``)."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


@lru_cache(maxsize=4096)
def is_scalar(name: str) -> bool:
    """Whether the scheduler counts this resource besides CPU, memory and ephemeral storage."""
    return (
        is_extended(name)
        or name.startswith(("hugepages-", "attachable-volumes-"))
        or "kubernetes.io/" in name
    )


def pod_requests(pod: Pod, *, use_status: bool) -> dict[str, int]:
    """The pod's requests, without resources that the scheduler does not count.

    With ``use_status``, for a pod on a node, a resize in progress counts with the maximum of the
    spec's, the allocated and the actual resources, and devices with what they take of the node.
    """
    if (requests := _only_container(pod, use_status=use_status)) is not None:
        return dict(_single_container_amounts(requests)[0])
    return _round_up(_total(pod, use_status=use_status, devices=use_status, defaults={}))


def requests_with_devices(pod: Pod, *, pod_level: bool = True) -> dict[str, int]:
    """The requests of the spec, with what the devices in the status take of the node.

    ``pod_level``: the requests of the pod replace those of its containers and devices.
    """
    return _round_up(_total(pod, use_status=False, devices=True, defaults={}, pod_level=pod_level))


def nonzero_requests(pod: Pod) -> tuple[int, int]:
    """(milli-CPU, bytes) of a pod on a node, with defaults for containers without a request.

    A pod-level request replaces those of the containers, so no default is used with it.
    """
    if (requests := _only_container(pod, use_status=True)) is not None:
        amounts = _single_container_amounts(requests)[1]
        return amounts[CPU], amounts[MEMORY]
    total = _total(pod, use_status=True, devices=True, defaults={})
    defaults: Mapping[str, int] = _DEFAULTS
    if _pod_level_requests(pod):
        defaults = {name: amount for name, amount in _DEFAULTS.items() if name not in total}
    if defaults:
        total = _total(pod, use_status=True, devices=True, defaults=defaults)
    rounded = _round_up(total)
    return rounded.get(CPU, 0), rounded.get(MEMORY, 0)


def fit_scoring_requests(pod: Pod) -> dict[str, int]:
    """The requests by which NodeResourcesFit scores an incoming pod: with the defaults, and, as
    upstream, without the pod-level requests and without a resize in the pod's status."""
    if (requests := _only_container(pod, use_status=False)) is not None:
        return dict(_single_container_amounts(requests)[1])
    return _round_up(
        _total(pod, use_status=False, devices=False, defaults=_DEFAULTS, pod_level=False)
    )


def node_allocatable(allocatable: ResourceList) -> tuple[dict[str, int], int]:
    """A node's allocatable amounts, and the number of pods it allows."""
    amounts, pods = _allocatable_amounts(tuple(allocatable.items()))
    return dict(amounts), pods


@lru_cache(maxsize=4096)
def _allocatable_amounts(allocatable: _Requests) -> tuple[_Amounts, int]:
    """Cached, as many nodes are equal."""
    amounts, pods = {}, 0
    for name, listed in allocatable:
        if name == PODS:
            pods = quantity.value(listed)
        elif name in _NATIVE or is_scalar(name):
            amounts[name] = _amount(name, quantity.parse(listed).nanos)
    return amounts, pods


def has_resize_status(pod: Pod) -> bool:
    """Whether the status contains allocated or actual resources."""
    status = pod.status
    if status.resources is not None or status.allocated_resources:
        return True
    # Loops: each version of each pod is looked at several times.
    for each in status.container_statuses:
        if each.resources is not None or each.allocated_resources:
            return True
    for each in status.init_container_statuses:
        if each.resources is not None or each.allocated_resources:
            return True
    return False


def has_counted_status(pod: Pod) -> bool:
    """Whether the requests of the pod on its node do not follow from its spec alone."""
    return bool(pod.status.node_allocatable_resource_claim_statuses) or has_resize_status(pod)


def _only_container(pod: Pod, *, use_status: bool) -> _Requests | None:
    """The requests of a pod's only container; None if anything else counts too."""
    spec = pod.spec
    if (
        len(spec.containers) != 1
        or spec.init_containers
        or spec.overhead
        or spec.resources is not None
        or (use_status and has_counted_status(pod))
    ):
        return None
    return tuple(spec.containers[0].resources.requests.items())


@lru_cache(maxsize=4096)
def _single_container_amounts(requests: _Requests) -> tuple[_Amounts, _Amounts]:
    """The amounts without and with the defaults; cached, as pods of one workload are equal."""
    amounts = _nanos(dict(requests))
    return _round_up(amounts), _round_up({**_DEFAULTS, **amounts})


def _total(
    pod: Pod,
    *,
    use_status: bool,
    devices: bool,
    defaults: Mapping[str, int],
    pod_level: bool = True,
) -> _Nanos:
    """The containers with sidecars or the largest init step, then devices, pod level, overhead."""
    spec = pod.spec
    resizing = use_status and has_resize_status(pod)
    if resizing and spec.resources is not None and spec.resources.limits:
        total = _actual_total(pod, defaults)
    elif len(spec.containers) == 1 and not spec.init_containers and not resizing:
        total = _container_requests(spec.containers[0], defaults)
    else:
        total = _containers_total(pod, resizing, defaults)
    for claim in pod.status.node_allocatable_resource_claim_statuses if devices else ():
        _add(total, _nanos(claim.resources))
    if pod_level and _pod_level_requests(pod):
        total.update(_pod_level(pod, use_status))
    if spec.overhead:
        _add(total, _nanos(spec.overhead))
    return total


def _containers_total(pod: Pod, resizing: bool, defaults: Mapping[str, int]) -> _Nanos:
    requests = _RequestsOf(pod, defaults) if resizing else None

    def of(container: Container) -> _Nanos:
        return requests(container) if requests else _container_requests(container, defaults)

    total: _Nanos = {}
    for container in pod.spec.containers:
        _add(total, of(container))
    sidecars: _Nanos = {}
    greatest_step: _Nanos = {}
    for container in pod.spec.init_containers:
        amounts = of(container)
        if container.restart_policy == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            amounts = sidecars
        else:
            _add(amounts, sidecars)
        _take_maximum(greatest_step, amounts)
    _take_maximum(total, greatest_step)
    return total


def _actual_total(pod: Pod, defaults: Mapping[str, int]) -> _Nanos:
    """The containers of a pod with pod-level limits, with what the pod's status says of all.

    The statuses of its containers do not count then, as upstream.
    """
    total = _containers_total(pod, False, defaults)
    status = pod.status
    if status.resources is not None:
        if _resize_is_infeasible(pod):
            total = {}
        _take_maximum(total, _nanos(status.resources.requests))
        _take_maximum(total, _nanos(status.allocated_resources))
    return total


class _RequestsOf:
    """The requests of each container of a pod that may be in the middle of a resize.

    Allocated resources count only if the actual resources are reported too.
    """

    def __init__(self, pod: Pod, defaults: Mapping[str, int]) -> None:
        self._defaults = defaults
        self._infeasible = _resize_is_infeasible(pod)
        statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
        self._statuses: dict[str, ContainerStatus] = {each.name: each for each in statuses}

    def __call__(self, container: Container) -> _Nanos:
        status = self._statuses.get(container.name)
        if status is None or status.resources is None:
            return _container_requests(container, self._defaults)
        in_force = status.resources.requests
        wanted = {} if self._infeasible else container.resources.requests
        amounts = _nanos(wanted)
        _take_maximum(amounts, _nanos(in_force))
        _take_maximum(amounts, _nanos(status.allocated_resources))
        return _with_defaults(amounts, self._defaults)


def _pod_level(pod: Pod, use_status: bool) -> _Nanos:
    """The pod-level requests, for the resources that can be set there.

    As for containers, allocated resources count only if the actual resources are reported too.
    An infeasible resize leaves 0 of what is not reported.
    """
    assert pod.spec.resources is not None
    wanted = _nanos(pod.spec.resources.requests)
    names = [name for name in wanted if _is_pod_level(name)]
    status = pod.status
    if use_status and status.resources is not None:
        if _resize_is_infeasible(pod):
            wanted = {}
        _take_maximum(wanted, _nanos(status.resources.requests))
        _take_maximum(wanted, _nanos(status.allocated_resources))
    return {name: wanted.get(name, 0) for name in names}


def _pod_level_requests(pod: Pod) -> bool:
    level = pod.spec.resources
    return level is not None and any(map(_is_pod_level, level.requests))


def _is_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def _resize_is_infeasible(pod: Pod) -> bool:
    for condition in pod.status.conditions:
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _container_requests(container: Container, defaults: Mapping[str, int]) -> _Nanos:
    return _with_defaults(_nanos(container.resources.requests), defaults)


def _with_defaults(amounts: _Nanos, defaults: Mapping[str, int]) -> _Nanos:
    for name, amount in defaults.items():
        amounts.setdefault(name, amount)
    return amounts


def _nanos(listed: ResourceList) -> _Nanos:
    return {name: quantity.parse(amount).nanos for name, amount in listed.items()}


def _add(total: _Nanos, amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _take_maximum(total: _Nanos, amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        if amount > total.get(name, -1):
            total[name] = amount


def _round_up(total: Mapping[str, int]) -> dict[str, int]:
    return {
        name: _amount(name, nanos)
        for name, nanos in total.items()
        if name in _NATIVE or is_scalar(name)
    }


def _amount(name: str, nanos: int) -> int:
    """Thousandths of a CPU or whole units, rounded up."""
    amount = -(-nanos // (10**6 if name == CPU else _NANO))
    return amount if -_HALF <= amount < _HALF else _overflow(amount, nanos)


def _overflow(amount: int, nanos: int) -> int:
    """What Go's integers of 64 bits make of a greater amount, as in Quantity.MilliValue.

    The API server accepts such amounts. Upstream's quantities are a mantissa and a power of ten;
    the value of one with 10⁹ or more is 0 when it overflows, that of any other wraps around.
    """
    mantissa, exponent = abs(nanos), -9
    while mantissa % 1000 == 0 and exponent < 18:
        mantissa //= 1000
        exponent += 3
    if exponent >= 9 and mantissa < 10**18:
        return 0
    return wrap(amount)


def wrap(amount: int) -> int:
    """The lowest 64 bits with a sign: sums wrap around, as in Go and NumPy."""
    return (amount + _HALF) % (2 * _HALF) - _HALF

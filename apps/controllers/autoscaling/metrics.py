"""How many replicas a metric asks for, from the usage of a workload's pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from apps import quantity
from apps.controllers.usage.sampling import Usage, Window, pod_usage

Body = Mapping[str, Any]

#: A ratio of usage and target this close to 1 changes nothing.
_TOLERANCE: Final = 0.1
_NANO: Final = 10**9


class NoMetric(Exception):
    """A metric cannot be computed; with the reason of the condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


@dataclass(frozen=True, slots=True)
class Proposal:
    """The replicas that a metric asks for, its current value as in the status, and its name."""

    replicas: int
    current: dict[str, Any]
    name: str


@dataclass(frozen=True, slots=True)
class _Measured:
    """Usage and request of one pod, in nanocores or nano-bytes."""

    usage: int
    request: int


def propose(
    metric: Body, pods: Sequence[Body], replicas: int, window: Window, *, measured: bool
) -> Proposal:
    """What a metric asks for; `pods` are those of the workload that have not ended.

    `measured` is false while there are no mock kubelets. Raises NoMetric.
    """
    type_ = metric.get("type", "")
    if type_ not in ("Resource", "ContainerResource"):
        raise NoMetric(
            f"FailedGet{type_}Metric",
            f"unable to get {type_} metrics: no metrics API serves them in a mock cluster",
        )
    field = "resource" if type_ == "Resource" else "containerResource"
    source = metric[field]
    name, container = source["name"], source.get("container", "")
    if not measured:
        raise _unavailable(type_, name, "the server could not find the requested resource")
    ready, missing = _measure(pods, name, container, window)
    if not ready:
        raise _unavailable(type_, name, "no metrics returned from resource metrics API")
    target = source["target"]
    total = sum(each.usage for each in ready)
    current: dict[str, Any] = {"averageValue": _text(name, total / len(ready))}
    if target.get("averageUtilization") is not None:
        requested = sum(each.request for each in (*ready, *missing))
        if not all(each.request for each in (*ready, *missing)):
            raise _unavailable(type_, name, f"missing request for {name}")
        wanted = target["averageUtilization"] / 100
        current["averageUtilization"] = int(100 * total / sum(each.request for each in ready))
        amounts = [each.request * wanted for each in (*ready, *missing)]
        assert requested
    else:
        amounts = [float(quantity.parse(target["averageValue"]).nanos)] * len(ready + missing)
    proposed = _replicas(replicas, total, amounts[: len(ready)], amounts[len(ready) :])
    what = f"{name} container resource" if container else f"{name} resource"
    kind = " utilization (percentage of request)" if "averageUtilization" in target else ""
    listed = {"name": name, **({"container": container} if container else {}), "current": current}
    return Proposal(proposed, {"type": type_, field: listed}, what + kind)


def _replicas(replicas: int, total: int, ready: list[float], missing: list[float]) -> int:
    """The replicas that follow from the usage of ready pods and the target amounts of all.

    A pod without metrics is assumed to use its target when the others ask for fewer replicas, and
    nothing when they ask for more, so that it never causes a change.
    """
    ratio = total / sum(ready)
    if not missing:
        return replicas if abs(1 - ratio) <= _TOLERANCE else ceil(ratio * len(ready))
    assumed = total + (sum(missing) if ratio < 1 else 0)
    adjusted = assumed / (sum(ready) + sum(missing))
    if abs(1 - adjusted) <= _TOLERANCE or (ratio < 1) != (adjusted < 1):
        return replicas
    proposed = ceil(adjusted * (len(ready) + len(missing)))
    turned = proposed > replicas if adjusted < 1 else proposed < replicas
    return replicas if turned else proposed


def _measure(
    pods: Sequence[Body], name: str, container: str, window: Window
) -> tuple[list[_Measured], list[_Measured]]:
    """The pods with usage, and those without."""
    ready: list[_Measured] = []
    missing: list[_Measured] = []
    for pod in pods:
        usage = {k: v for k, v in pod_usage(pod, window).items() if container in ("", k)}
        used = sum(_amount(each, name) for each in usage.values())
        measured = _Measured(used, _request(pod, name, container))
        (ready if usage else missing).append(measured)
    return ready, missing


def _amount(usage: Usage, name: str) -> int:
    return usage.cpu if name == "cpu" else usage.memory * _NANO


def _request(pod: Body, name: str, container: str) -> int:
    """The sum of the requests; 0 if a container has none."""
    requested = [
        quantity.parse(requests[name]).nanos if name in requests else 0
        for each in pod["spec"]["containers"]
        if container in ("", each["name"])
        for requests in [(each.get("resources") or {}).get("requests") or {}]
    ]
    return sum(requested) if requested and all(requested) else 0


def _text(name: str, nanos: float) -> str:
    return f"{ceil(nanos / 10**6)}m" if name == "cpu" else str(int(nanos / _NANO))


def _unavailable(type_: str, name: str, why: str) -> NoMetric:
    return NoMetric(f"FailedGet{type_}Metric", f"unable to get metrics for resource {name}: {why}")

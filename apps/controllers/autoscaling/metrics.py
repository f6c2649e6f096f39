"""How many replicas a metric asks for, from the usage of a workload's pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

import msgspec

from apps import quantity
from apps.controllers.selector_text import selector_text
from apps.controllers.usage.sampling import Usage, Window, pod_usage
from apps.scheduler.objects import LabelSelector

Body = Mapping[str, Any]

#: A ratio of usage and target this close to 1 changes nothing.
_TOLERANCE: Final = 0.1
_NANO: Final = 10**9


class NoMetric(Exception):
    """A metric cannot be computed; with the reason of the condition, and what failed."""

    def __init__(self, reason: str, message: str, what: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message
        #: the error among those of all metrics
        self.full = f"failed to get {what}: {message}"


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
    metric: Body,
    namespace: str,
    pods: Sequence[Body],
    replicas: int,
    window: Window,
    *,
    measured: bool,
) -> Proposal:
    """What a metric asks for; `pods` are those of the workload that have not ended.

    `measured` is false while there are no mock kubelets. Raises NoMetric.
    """
    type_ = metric.get("type", "")
    if type_ not in ("Resource", "ContainerResource"):
        raise _unserved(metric, namespace)
    field = "resource" if type_ == "Resource" else "containerResource"
    source = metric[field]
    name, container = source["name"], source.get("container", "")
    if not measured:
        raise _unavailable(metric, _unreachable("resource", "pods.metrics.k8s.io"))
    ready, missing = _measure(pods, name, container, window)
    if not ready:
        raise _unavailable(metric, "no metrics returned from resource metrics API")
    target = source["target"]
    total = sum(each.usage for each in ready)
    current: dict[str, Any] = {"averageValue": _text(name, total / len(ready))}
    if target.get("averageUtilization") is not None:
        requested = sum(each.request for each in (*ready, *missing))
        if not all(each.request for each in (*ready, *missing)):
            raise _no_request(metric, pods)
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


def _unavailable(metric: Body, why: str) -> NoMetric:
    source = metric.get("resource") or metric["containerResource"]
    return _failure(metric, f"unable to get metrics for resource {source['name']}: {why}")


def _no_request(metric: Body, pods: Sequence[Body]) -> NoMetric:
    """A pod without a request, of which utilization would be a percentage."""
    source = metric.get("resource") or metric["containerResource"]
    name, only = source["name"], source.get("container", "")
    lacking = next(
        f"container {each['name']} of Pod {pod['metadata']['name']}"
        for pod in pods
        for each in pod["spec"]["containers"]
        if only in ("", each["name"])
        and name not in ((each.get("resources") or {}).get("requests") or {})
    )
    return _failure(metric, f"missing request for {name} in {lacking}")


def _failure(metric: Body, why: str) -> NoMetric:
    """The failure of a metric of pods' usage."""
    type_ = metric["type"]
    source = metric.get("resource") or metric["containerResource"]
    by_value = source["target"].get("averageValue") is not None
    container = source.get("container")
    what = f"{container} container" if container else f"{source['name']} resource"
    return NoMetric(
        f"FailedGet{type_}Metric",
        f"failed to get {source['name']} {'usage' if by_value else 'utilization'}: {why}",
        f"{what} metric value",
    )


def _unreachable(api: str, what: str) -> str:
    missing = f"the server could not find the requested resource (get {what})"
    return f"unable to fetch metrics from {api} metrics API: {missing}"


def _unserved(metric: Body, namespace: str) -> NoMetric:
    """The failure of a metric that an API of its own would serve; a mock cluster has none."""
    type_ = metric.get("type", "")
    reason = f"FailedGet{type_}Metric"
    source = metric[type_.lower()]
    name, by_value = source["metric"]["name"], source["target"].get("value") is not None
    if type_ == "External":
        given = source["metric"].get("selector")
        selector = selector_text(None if given is None else msgspec.convert(given, LabelSelector))
        missing = _unreachable("external", f"{name}.external.metrics.k8s.io")
        why = f"unable to get external metric {namespace}/{name}/{selector}: {missing}"
        what = f"external metric {name}" if by_value else f"{name} external metric"
        return NoMetric(reason, why, f"{name} external metric value: failed to get {what}")
    missing = (
        "unable to fetch metrics from custom metrics API: "
        "no custom metrics API (custom.metrics.k8s.io) registered"
    )
    if type_ == "Pods":
        return NoMetric(reason, f"unable to get metric {name}: {missing}", "pods metric value")
    described = source["describedObject"]
    where = f"{described['kind']} on {namespace} {described['name']}"
    step = "" if by_value else f": failed to get {name} object metric"
    why = f"unable to get metric {name}: {where}/{missing}"
    return NoMetric(reason, why, f"object metric value{step}")

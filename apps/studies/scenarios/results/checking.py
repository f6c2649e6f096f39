"""Checks the expectations of a scenario."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from apps.scheduler.config.decoding import camel_case
from apps.scheduler.config.durations import go_duration
from apps.studies.scenarios.language.types import (
    CHECKS,
    Amount,
    Expectation,
    NodeTarget,
    PodSelector,
    Skew,
    Utilization,
    Waiting,
)
from apps.studies.scenarios.results.baseline import Baseline
from apps.studies.scenarios.results.figures import count_figures, percentile
from apps.studies.scenarios.running.acting import matches_node
from apps.studies.scenarios.running.recording import PodRecord, Recorder

#: Names in a message at most, and reasons of pods that wait.
_NAMED, _REASONS = 5, 3
_NOT_TRIED = "not tried yet"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether an expectation was met, and what was found."""

    name: str
    met: bool
    #: "12 of 12 pods were bound within 10s"
    message: str
    #: seconds since the start
    at: float


def check_of(expectation: Expectation) -> str:
    """The name of the field that says what is checked."""
    return next(name for name in CHECKS if getattr(expectation, name) is not None)


def check(
    expectation: Expectation, recorder: Recorder, baseline: Baseline | None = None
) -> Outcome:
    """Check one expectation on what has been recorded until now; `baseline` is that of notWorse."""
    name = check_of(expectation)
    pods = [pod for pod in recorder.pods.values() if _selects(expectation.pods, pod)]
    at = recorder.cluster.elapsed
    if expectation.not_worse is not None and baseline is not None:
        met, message = baseline.compare(expectation.not_worse, count_figures(recorder))
    else:
        met, message = _CHECKS[name](expectation, pods, recorder)
    # `reason` is about these messages itself
    if not met and expectation.reason is None:
        message += _why_pending(pods or list(recorder.pods.values()))
    return Outcome(expectation.name or describe(expectation), met, message, at)


def describe(expectation: Expectation) -> str:
    """The name of an expectation that has none: "boundWithin of web"."""
    selector = expectation.pods
    labels = [f"{key}={value}" for key, value in selector.labels.items()]
    which = ", ".join([each for each in (selector.workload, selector.namespace) if each] + labels)
    return camel_case(check_of(expectation)) + (f" of {which}" if which else "")


def _selects(selector: PodSelector, pod: PodRecord) -> bool:
    return (
        selector.workload in ("", pod.workload)
        and selector.namespace in ("", pod.namespace)
        and selector.labels.items() <= pod.labels.items()
    )


Result = tuple[bool, str]


def _bound_within(wanted: Expectation, pods: Sequence[PodRecord], recorder: Recorder) -> Result:
    assert wanted.bound_within is not None
    limit = wanted.bound_within
    late = [pod for pod in pods if pod.waited is None or pod.waited > limit]
    share = 100 * (len(pods) - len(late)) / len(pods) if pods else 0.0
    message = f"{len(pods) - len(late)} of {len(pods)} pods were bound within {_text(limit)}"
    return bool(pods) and share >= wanted.percent, message + _listed("; not", late)


def _on_nodes(wanted: Expectation, pods: Sequence[PodRecord], recorder: Recorder) -> Result:
    target: NodeTarget | None = wanted.on_nodes
    assert target is not None
    bound = [pod for pod in pods if pod.bound_at is not None]
    wrong = [pod for pod in bound if not matches_node(target, pod.node, pod.node_labels)]
    message = f"{len(bound) - len(wrong)} of {len(bound)} bound pods are on matching nodes"
    return bool(bound) and not wrong, message + _listed("; not", wrong)


def _no_preemption(wanted: Expectation, pods: Sequence[PodRecord], recorder: Recorder) -> Result:
    victims = [pod for pod in pods if pod.disruption == "preempted"]
    return not victims, f"{len(victims)} pods were preempted" + _listed(":", victims)


def _counting(
    name: str, what: str, counts: Callable[[PodRecord], bool]
) -> Callable[[Expectation, Sequence[PodRecord], Recorder], Result]:
    def count(wanted: Expectation, pods: Sequence[PodRecord], recorder: Recorder) -> Result:
        total = sum(map(counts, pods))
        return _compare(getattr(wanted, name), total, f"{total} pods {what}")

    return count


def _attempts(wanted: Expectation, pods: Sequence[PodRecord], recorder: Recorder) -> Result:
    most = max((pod.attempts for pod in pods), default=0)
    return _compare(wanted.attempts, most, f"the most attempts of a pod are {most}")


def _waiting(wanted: Expectation, pods: Sequence[PodRecord], recorder: Recorder) -> Result:
    limit: Waiting | None = wanted.waiting
    assert limit is not None
    waited = sorted(pod.waited for pod in pods if pod.waited is not None)
    waiting = percentile(waited, limit.percentile)
    if waiting is None:
        return False, "no pod was bound"
    message = f"the {limit.percentile:g}th percentile of the waiting time is {_text(waiting)}"
    return waiting <= limit.at_most, f"{message}, at most {_text(limit.at_most)} is expected"


def _utilization(wanted: Expectation, pods: Sequence[PodRecord], recorder: Recorder) -> Result:
    limits: Utilization | None = wanted.utilization
    assert limits is not None
    resource = limits.resource
    value = recorder.average(resource) if limits.average else recorder.utilization_of(resource)
    what = "average utilization" if limits.average else "utilization"
    return _compare(limits, value, f"the {what} of {resource} is {value:.3f}")


def _imbalance(wanted: Expectation, pods: Sequence[PodRecord], recorder: Recorder) -> Result:
    value = recorder.take_sample().imbalance
    return _compare(wanted.imbalance, value, f"the imbalance is {value:.3f}")


def _nodes_used(wanted: Expectation, pods: Sequence[PodRecord], recorder: Recorder) -> Result:
    used = len({pod.node for pod in pods if pod.is_on_node})
    return _compare(wanted.nodes_used, used, f"the pods are on {used} nodes")


def _skew(wanted: Expectation, pods: Sequence[PodRecord], recorder: Recorder) -> Result:
    limits: Skew | None = wanted.skew
    assert limits is not None
    key = limits.topology_key
    nodes = recorder.cluster.scheduler.cache.nodes.values()
    labels = [info.node.metadata.labels for info in nodes if info.node is not None]
    per_domain: Counter[str] = Counter({each[key]: 0 for each in labels if key in each})
    per_domain.update(pod.node_labels.get(key, "") for pod in pods if pod.is_on_node)
    if not per_domain:
        return False, f"no node has the label {key}"
    skew = max(per_domain.values()) - min(per_domain.values())
    listed = ", ".join(f"{domain}: {number}" for domain, number in sorted(per_domain.items())[:10])
    return _compare(limits, skew, f"the skew is {skew} ({listed})")


def _reason(wanted: Expectation, pods: Sequence[PodRecord], recorder: Recorder) -> Result:
    assert wanted.reason is not None
    waiting = [pod for pod in pods if pod.is_pending]
    other = [pod for pod in waiting if wanted.reason not in pod.message]
    message = f"{len(waiting) - len(other)} of {len(waiting)} waiting pods say {wanted.reason!r}"
    if other:
        message += f"; {other[0].key} says {other[0].message!r}"
    return bool(waiting) and not other, message


_CHECKS: dict[str, Callable[[Expectation, Sequence[PodRecord], Recorder], Result]] = {
    "bound_within": _bound_within,
    "on_nodes": _on_nodes,
    "no_preemption": _no_preemption,
    "created": _counting("created", "were created", lambda pod: True),
    "bound": _counting("bound", "were bound", lambda pod: pod.bound_at is not None),
    "pending": _counting("pending", "are pending", lambda pod: pod.is_pending),
    "running": _counting(
        "running", "are running", lambda pod: pod.is_on_node and pod.phase == "Running"
    ),
    "succeeded": _counting("succeeded", "succeeded", lambda pod: pod.phase == "Succeeded"),
    "preempted": _counting(
        "preempted", "were preempted", lambda pod: pod.disruption == "preempted"
    ),
    "evicted": _counting("evicted", "were evicted", lambda pod: pod.disruption == "evicted"),
    "attempts": _attempts,
    "waiting": _waiting,
    "utilization": _utilization,
    "imbalance": _imbalance,
    "nodes_used": _nodes_used,
    "skew": _skew,
    "reason": _reason,
}


def _why_pending(pods: Sequence[PodRecord]) -> str:
    """Why pods wait, the most frequent reasons with one pod each; "" if none waits."""
    waiting: dict[str, list[PodRecord]] = {}
    for pod in pods:
        if pod.is_pending:
            waiting.setdefault(pod.message or _NOT_TRIED, []).append(pod)
    reasons = sorted(waiting.items(), key=lambda each: -len(each[1]))[:_REASONS]
    said = [
        f"{pods[0].key}{f' and {len(pods) - 1} more' if len(pods) > 1 else ''}: {message}"
        for message, pods in reasons
    ]
    return f". Pending: {'; '.join(said)}" if said else ""


def _compare(limits: Amount | None, value: float, message: str) -> Result:
    assert limits is not None
    wanted = []
    met = True
    for sign, limit, holds in (
        ("=", limits.equals, math.isclose(value, limits.equals or 0.0, abs_tol=1e-9)),
        ("≥", limits.at_least, value >= (limits.at_least or 0.0)),
        ("≤", limits.at_most, value <= (limits.at_most or 0.0)),
    ):
        if limit is not None:
            wanted.append(f"{sign} {limit:g}")
            met = met and holds
    return met, f"{message}, {' and '.join(wanted)} is expected"


def _listed(start: str, pods: Sequence[PodRecord]) -> str:
    if not pods:
        return ""
    names = ", ".join(pod.key for pod in pods[:_NAMED])
    return f"{start} {names}{' …' if len(pods) > _NAMED else ''}"


def _text(seconds: float) -> str:
    return go_duration(round(seconds, 3))

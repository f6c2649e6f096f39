"""The metrics of a finished attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.status import Code, Status
from apps.scheduler.metrics import definitions
from apps.scheduler.metrics.series import NANO, MetricsRegistry

#: the label of a pod that needed this many attempts or more
_MANY_ATTEMPTS = 15
#: extension points at which a pod that has a node can be refused, in their order
_BINDING_POINTS = ("Reserve", "Permit", "PreBind", "Bind")
_SUCCESS, _WAIT, _SKIP = Code.SUCCESS.label, Code.WAIT.label, Code.SKIP.label


def note_attempt(
    metrics: MetricsRegistry,
    decision: Decision,
    *,
    now_ns: int,
    at: float,
    points: Mapping[str, tuple[str, ...]],
) -> None:
    """Add a final `decision`, whose binding (if any) is being written at `now_ns`.

    `now_ns` is `perf_counter_ns`; `at` is the time of the decision, in seconds of the cluster's
    clock; `points` are the plugins of its profile by extension point, in their order.
    """
    result, profile = decision.result, decision.profile
    labels = (result.value, profile)
    metrics.count(definitions.SCHEDULE_ATTEMPTS, labels)
    ended_ns = now_ns if result is Result.SCHEDULED else decision.ended_ns
    seconds = (ended_ns - decision.began_ns) * NANO
    metrics.observe(definitions.ATTEMPT_DURATION, labels, seconds)
    metrics.observe(definitions.ALGORITHM_DURATION, (), decision.algorithm_ns * NANO)
    if result is Result.SCHEDULED:
        _note_scheduled(metrics, decision, at)
    if decision.post_filter_status is not None:
        metrics.count(definitions.PREEMPTION_ATTEMPTS)
        if decision.post_filter is not None and decision.post_filter.victims:
            victims = len(decision.post_filter.victims)
            metrics.observe(definitions.PREEMPTION_VICTIMS, (), victims)
    if decision.permit_wait is not None and decision.permit_wait.outcome is not None:
        outcome = decision.permit_wait.outcome.code.label
        metrics.observe(definitions.PERMIT_WAIT, (outcome,), decision.permit_wait.seconds)
    for point, status, nanoseconds in _extension_points(decision):
        where = (point, status, profile)
        metrics.observe(definitions.EXTENSION_POINT_DURATION, where, nanoseconds * NANO)
    for plugin, point, times in evaluations(decision, points):
        metrics.count(definitions.PLUGIN_EVALUATION, (plugin, point, profile), times)
    if metrics.is_sampled():
        _note_plugins(metrics, decision)


def _note_scheduled(metrics: MetricsRegistry, decision: Decision, at: float) -> None:
    attempts = decision.attempt
    metrics.observe(definitions.POD_ATTEMPTS, (), attempts)
    if decision.initial_attempt_at is not None:
        label = str(attempts) if attempts < _MANY_ATTEMPTS else f"{_MANY_ATTEMPTS}+"
        # A clock that is set manually may have been set back.
        seconds = max(0.0, at - decision.initial_attempt_at)
        metrics.observe(definitions.SLI_DURATION, (label,), seconds)
    if decision.after_flush:
        metrics.count(definitions.SCHEDULED_AFTER_FLUSH)


def _note_plugins(metrics: MetricsRegistry, decision: Decision) -> None:
    for point, plugins in decision.plugin_durations.items():
        statuses = _PLUGIN_STATUSES.get(point, _binding_statuses)(decision)
        for plugin, nanoseconds in plugins.items():
            where = (plugin, point, statuses.get(plugin, _SUCCESS))
            metrics.observe(definitions.PLUGIN_DURATION, where, nanoseconds * NANO)


def _pre_filter(decision: Decision) -> dict[str, str]:
    skipped = dict.fromkeys(decision.filter_skipped, _SKIP)
    return {**skipped, decision.pre_filter.plugin: decision.pre_filter.code.label}


def _filter(decision: Decision) -> dict[str, str]:
    """Plugins that refused some node, with their first status."""
    found: dict[str, str] = {}
    for status in decision.node_statuses.statuses if decision.node_statuses is not None else ():
        if status is not None:
            found.setdefault(status.plugin, status.code.label)
    return found


def _post_filter(decision: Decision) -> dict[str, str]:
    status = decision.post_filter_status
    return {status.plugin: status.code.label} if status is not None else {}


def _pre_score(decision: Decision) -> dict[str, str]:
    return dict.fromkeys(decision.score_skipped, _SKIP)


def _score(decision: Decision) -> dict[str, str]:
    return {}


def _binding_statuses(decision: Decision) -> dict[str, str]:
    waited = decision.permit_wait.timeouts if decision.permit_wait is not None else ()
    found = dict.fromkeys(waited, _WAIT)
    if decision.rejection is not None:
        found[decision.rejection.plugin] = decision.rejection.code.label
    return found


#: extension point -> plugin -> status of those that did not simply succeed
_PLUGIN_STATUSES: Mapping[str, Callable[[Decision], dict[str, str]]] = {
    "PreFilter": _pre_filter,
    "Filter": _filter,
    "PostFilter": _post_filter,
    "PreScore": _pre_score,
    "Score": _score,
}


def _extension_points(decision: Decision) -> Iterator[tuple[str, str, int]]:
    """(extension point, status, nanoseconds) of the extension points that ran."""
    run = [point for point in decision.durations if point in _BINDING_POINTS]
    for point, nanoseconds in decision.durations.items():
        status = _SUCCESS
        if point == "PreFilter":
            status = decision.pre_filter.code.label
        elif point == "PostFilter" and decision.post_filter_status is not None:
            status = decision.post_filter_status.code.label
        elif decision.rejection is not None and run and point == run[-1]:
            status = decision.rejection.code.label
        elif point == "Permit" and decision.permit_wait is not None:
            status = _WAIT
        elif point == "Extenders":
            continue
        yield point, status, nanoseconds


def evaluations(
    decision: Decision, points: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, str, int]]:
    """(plugin, extension point, number of calls), as kube-scheduler counts them.

    There a filter is called for each node that no filter before it has refused.
    """
    asked = points.get("preFilter", ())
    refusal = decision.pre_filter
    # After a plain Unschedulable the other plugins still run.
    ended = refusal.code not in (Code.SUCCESS, Code.UNSCHEDULABLE)
    if ended and refusal.plugin in asked:
        asked = asked[: asked.index(refusal.plugin) + 1]
    for plugin in asked:
        if plugin not in decision.filter_skipped:
            yield plugin, "PreFilter", 1
    if decision.node_statuses is not None and decision.evaluated:
        left, refused = decision.evaluated, _refusals(decision)
        for plugin in points.get("filter", ()):
            if plugin not in decision.filter_skipped and left > 0:
                yield plugin, "Filter", left
                left -= refused.get(plugin, 0)
    if decision.scores or decision.score_skipped:
        for plugin in points.get("preScore", ()):
            if plugin not in decision.score_skipped:
                yield plugin, "PreScore", 1
        for plugin in decision.scores:
            if plugin in points.get("score", ()):
                yield plugin, "Score", len(decision.feasible)


def _refusals(decision: Decision) -> dict[str, int]:
    """Plugin -> number of nodes that it was the first to refuse."""
    statuses = decision.node_statuses
    assert statuses is not None
    if len(statuses.statuses) == 1:
        return {}
    counts = np.bincount(statuses.ids[statuses.ids > 0], minlength=len(statuses.statuses))
    refused: dict[str, int] = {}
    status: Status | None
    for status, count in zip(statuses.statuses, counts.tolist(), strict=True):
        if status is not None and count:
            refused[status.plugin] = refused.get(status.plugin, 0) + count
    return refused

"""The metrics of finished attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.status import Code
from apps.scheduler.metrics import definitions
from apps.scheduler.metrics.evaluations import EvaluatedBy, Evaluations
from apps.scheduler.metrics.series import NANO, MetricsRegistry

#: the label of a pod that needed this many attempts or more
_MANY_ATTEMPTS = 15
#: extension points at which a pod that has a node can be refused, in their order
_BINDING_POINTS = ("Reserve", "Permit", "PreBind", "Bind")
_SUCCESS, _WAIT, _SKIP = Code.SUCCESS.label, Code.WAIT.label, Code.SKIP.label


@dataclass(frozen=True, slots=True)
class Attempt:
    """A decision, and its time in seconds of the cluster's clock."""

    decision: Decision
    at: float


def note_attempts(
    metrics: MetricsRegistry,
    attempts: Iterable[Attempt],
    *,
    now_ns: int,
    points: Callable[[str], Mapping[str, tuple[str, ...]]],
) -> None:
    """Add final decisions, whose bindings (if any) are being written at `now_ns`.

    `now_ns` is `perf_counter_ns`; `points` returns the plugins of a profile by extension point, in
    their order.
    """
    durations = _Durations()
    evaluated: dict[EvaluatedBy, Evaluations] = {}
    for attempt in attempts:
        decision = attempt.decision
        _note_attempt(metrics, decision, now_ns, attempt.at)
        durations.add(decision)
        by = EvaluatedBy.of(decision)
        sums = evaluated.get(by)
        if sums is None:
            sums = evaluated[by] = Evaluations()
        sums.add(decision)
        if metrics.is_sampled():
            _note_plugins(metrics, decision)
    for labels, seconds in durations.by_labels().items():
        metrics.observe_all(definitions.EXTENSION_POINT_DURATION, labels, seconds)
    for by, sums in evaluated.items():
        for plugin, point, times in sums.count(by, points(by.profile)):
            labels = (plugin, point, by.profile)
            metrics.count(definitions.PLUGIN_EVALUATION, labels, times)


def _note_attempt(metrics: MetricsRegistry, decision: Decision, now_ns: int, at: float) -> None:
    result = decision.result
    labels = (result.value, decision.profile)
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
    statuses: dict[str, str] = {}
    for status in decision.node_statuses.statuses if decision.node_statuses is not None else ():
        if status is not None:
            statuses.setdefault(status.plugin, status.code.label)
    return statuses


def _post_filter(decision: Decision) -> dict[str, str]:
    status = decision.post_filter_status
    return {status.plugin: status.code.label} if status is not None else {}


def _pre_score(decision: Decision) -> dict[str, str]:
    return dict.fromkeys(decision.score_skipped, _SKIP)


def _score(decision: Decision) -> dict[str, str]:
    return {}


def _binding_statuses(decision: Decision) -> dict[str, str]:
    waited = decision.permit_wait.timeouts if decision.permit_wait is not None else ()
    statuses = dict.fromkeys(waited, _WAIT)
    if decision.rejection is not None:
        statuses[decision.rejection.plugin] = decision.rejection.code.label
    return statuses


#: extension point -> plugin -> status of those that did not simply succeed
_PLUGIN_STATUSES: Mapping[str, Callable[[Decision], dict[str, str]]] = {
    "PreFilter": _pre_filter,
    "Filter": _filter,
    "PostFilter": _post_filter,
    "PreScore": _pre_score,
    "Score": _score,
}


class _Durations:
    """The time that extension points took in some attempts.

    Most attempts succeed at all of them: these are added as rows, and read as columns.
    """

    def __init__(self) -> None:
        #: profile and extension points -> nanoseconds, a row for each attempt that succeeded
        self._rows: dict[tuple[str, ...], list[Iterable[int]]] = {}
        self._others: list[Decision] = []

    def add(self, decision: Decision) -> None:
        if not _succeeded_everywhere(decision):
            self._others.append(decision)
            return
        key = (decision.profile, *decision.durations)
        rows = self._rows.get(key)
        if rows is None:
            rows = self._rows[key] = []
        rows.append(decision.durations.values())

    def by_labels(self) -> dict[tuple[str, ...], list[float]]:
        """(extension point, status, profile) -> the seconds of each attempt."""
        seconds: dict[tuple[str, ...], list[float]] = {}
        for (profile, *points), rows in self._rows.items():
            for point, column in zip(points, zip(*rows, strict=True), strict=True):
                labels = (point, _SUCCESS, profile)
                seconds.setdefault(labels, []).extend([each * NANO for each in column])
        for decision in self._others:
            for point, status, nanoseconds in _extension_points(decision):
                labels = (point, status, decision.profile)
                seconds.setdefault(labels, []).append(nanoseconds * NANO)
        return seconds


def _succeeded_everywhere(decision: Decision) -> bool:
    """Whether the status of all extension points is success, without going through them."""
    return (
        decision.pre_filter.code is Code.SUCCESS
        and decision.post_filter_status is None
        and decision.rejection is None
        and decision.permit_wait is None
        and not decision.extender_calls
    )


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

"""Replays a span of a cluster's life; nothing is written."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

import numpy as np

from apps.cluster.log.changelog import LoggedChange
from apps.cluster.models import Cluster
from apps.engine.models import SchedulingDecision
from apps.scheduler.clock import VirtualClock
from apps.scheduler.objects import Pod
from apps.studies.lab.base import Base, build_scheduler
from apps.studies.lab.configurations import choose_configuration
from apps.studies.replay.continuing import Continuing
from apps.studies.replay.differences import Attempt, Differences
from apps.studies.replay.draws import RecordedTies
from apps.studies.replay.levels import Levels, Samples
from apps.studies.replay.outcomes import (
    compare_pods,
    list_effects,
    list_priorities,
    list_series,
    sum_up,
    with_baseline,
)
from apps.studies.replay.queueing import fill_queue
from apps.studies.replay.recording import Recording
from apps.studies.replay.report import MAX_LISTED, Effect, ReplayReport
from apps.studies.replay.retracing import Retracing
from apps.studies.replay.span import ReplayRequest, Span, find_span

Progress = Callable[[int, int], None]
#: Points of the series.
POINTS: Final = 120
#: Changes so far apart are not read together.
_APART_SECONDS: Final = 1.0


def replay(
    cluster: Cluster,
    request: ReplayRequest,
    *,
    progress: Progress = lambda done, total: None,
) -> ReplayReport:
    """Replay a span; raises the errors of `find_span`.

    `progress` receives the number of recorded decisions that are reached, and their total. What
    differs is also continued with the recorded configuration, as the baseline of waiting times.
    """
    span = find_span(cluster, request)
    report = Replay(span, request, progress).run()
    if report.first is None:
        return report
    recorded = ReplayRequest(
        since=request.since,
        until=request.until,
        zone=request.zone,
        seed=request.seed if request.changes_configuration else None,
    )

    def keep_going(done: int, total: int) -> None:
        # a replay that is cancelled ends here, too
        progress(total, total)

    baseline = Replay(replace(span, configuration=None), recorded, keep_going, report.first).run()
    return with_baseline(report, baseline)


@dataclass(slots=True)
class Replay:
    """One replay."""

    span: Span
    request: ReplayRequest
    progress: Progress
    #: the decision from which on the replay's own queue decides, whatever it would decide before
    start: int | None = None
    recording: Recording = field(init=False)
    _done: int = 0

    def run(self) -> ReplayReport:
        since, until = (m.at.timestamp() for m in (self.span.since, self.span.until))
        times = np.linspace(since, max(until, since), POINTS).tolist()
        self.recording = Recording(self.span, Levels(), Samples(times))
        self.recording.start()
        retracing = Retracing(
            self.span,
            draws_anew=self.request.seed is not None,
            is_strict=self.request.is_unchanged,
        )
        differing = self._retrace(retracing)
        if differing is None:
            self._finish_recording()
            return self._report(retracing, None, None, None)
        continuing, differences = self._continue(retracing, differing)
        return self._report(retracing, differing, continuing, differences)

    def _retrace(self, retracing: Retracing) -> SchedulingDecision | None:
        """Make the recorded decisions again; the first one that differs."""
        for number, row in enumerate(self.span.rows()):
            self.progress(number, len(self.span.decisions))
            self._done = number
            for change in self.recording.until(row.cluster_version):
                self.recording.inputs.classify(change)
            if row.pk == self.start:
                retracing.reach(row)
                return row
            if self.start is not None:
                retracing.equal += 1
            elif not retracing.is_same(row):
                return row
            retracing.pass_by(row)
        self._done = len(self.span.decisions)
        return None

    def _continue(
        self, retracing: Retracing, first: SchedulingDecision
    ) -> tuple[Continuing, Differences]:
        recording = self.recording
        attempts = self._read_attempts()
        times = self._read_durations()
        clock = VirtualClock(first.at.timestamp())
        base = self._base(retracing)
        scheduler = build_scheduler(base, clock, seed=self.request.seed or 0)
        if self.request.seed is None:
            scheduler.context.tie_breaker = RecordedTies(scheduler, attempts)
        levels, samples = copy.deepcopy(recording.levels), copy.deepcopy(recording.samples)
        differences = Differences(recording.levels, levels, attempts)
        recording.inputs.diverge()
        continuing = Continuing(
            scheduler, clock, recording.inputs, levels, samples, differences.take, times
        )
        created = {
            uid: recording.created.get(uid) or _created_at(pod) for uid, pod in base.pending.items()
        }
        fill_queue(scheduler, self.span.cluster, base.pending, first, created)
        known = {uid: info.pod for uid, info in base.pods.items()} | base.pending
        continuing.start(known, base.nodes, base.objects, retracing.victims)
        continuing.schedule()
        for at, group in self._groups():
            continuing.pass_until(at)
            for change in group:
                continuing.apply(change)
            continuing.schedule()
        continuing.pass_until(self.span.until.at.timestamp())
        scheduler.close()
        self._finish_recording()
        samples.pass_until(float("inf"), levels)
        return continuing, differences

    def _groups(self) -> Iterator[tuple[float, list[LoggedChange]]]:
        """The remaining changes as the recorded engine read them, with the time of each reading."""
        reads = sorted({version for version, _, _ in self.span.decisions[self._done :]})
        times = {version: at for version, at, _ in reversed(self.span.decisions)}
        total = len(self.span.decisions)
        for version in [*reads, self.span.until.version]:
            self.progress(min(self._done, total - 1), total)
            group: list[LoggedChange] = []
            for change in self.recording.until(version):
                if group and (change.at - group[0].at).total_seconds() > _APART_SECONDS:
                    yield group[-1].at.timestamp(), group
                    group = []
                group.append(change)
            read_at = times[version].timestamp() if version in times else 0.0
            if group:
                yield max(read_at, group[-1].at.timestamp()), group
            self._done += sum(each[0] == version for each in self.span.decisions[self._done :])

    def _base(self, retracing: Retracing) -> Base:
        """The state before the first decision that differs, as that of a simulation."""
        state = retracing.state
        assert state is not None
        cluster, cache = self.span.cluster, state.scheduler.cache
        configuration = self.span.configuration or choose_configuration(
            cluster, revision=state.revision
        )
        return Base(
            cluster,
            state.version,
            datetime.fromtimestamp(state.scheduler.clock.now(), UTC),
            configuration,
            nodes={name: info.node for name, info in cache.nodes.items() if info.node is not None},
            tree=copy.deepcopy(cache.node_tree),
            pods={uid: known.pod for uid, known in cache.pods.items()},
            pending={uid: pod for uid, pod in state.pending.items() if uid not in cache.pods},
            objects=[(kind, item) for kind, each in cache.listers.by_kind.items() for item in each],
        )

    def _read_attempts(self) -> dict[tuple[str, int], Attempt]:
        """The recorded attempts from the first one that differs on."""
        ids = [number for _, _, number in self.span.decisions[self._done :]]
        rows = SchedulingDecision.objects.filter(pk__in=ids).values_list(
            "pod_uid", "attempt", "id", "result", "node", "nominated_node"
        )
        return {
            (str(uid), number): Attempt(row, result, node, nominated)
            for uid, number, row, result, node, nominated in rows
        }

    def _read_durations(self) -> dict[str, float]:
        """uid -> seconds from the binding of a pod to its end, of pods that have finished.

        Of a pod that is on its node already, from now on.
        """
        now = self.span.decisions[self._done][1]
        durations: dict[str, float] = {}
        for uid, (bound, finished) in self.span.read_times().items():
            if finished is not None and finished > now:
                start = max(bound, now) if bound is not None and bound < now else bound or now
                durations[uid] = max(0.0, (finished - start).total_seconds())
        return durations

    def _finish_recording(self) -> None:
        for _ in self.recording.until(self.span.until.version):
            pass
        self.recording.samples.pass_until(float("inf"), self.recording.levels)

    def _report(
        self,
        retracing: Retracing,
        first: SchedulingDecision | None,
        continuing: Continuing | None,
        differences: Differences | None,
    ) -> ReplayReport:
        recording, total = self.recording, len(self.span.decisions)
        levels = continuing.levels if continuing is not None else recording.levels
        samples = continuing.samples if continuing is not None else recording.samples
        attempts = total if continuing is None else self._done + continuing.attempts
        differing = (
            list(compare_pods(recording.levels, continuing, differences, self._names()))
            if continuing is not None and differences is not None
            else []
        )
        self.progress(total, total)
        return ReplayReport(
            cluster=self.span.cluster.name,
            since_version=self.span.since.version,
            since_at=self.span.since.at,
            until_version=self.span.until.version,
            until_at=self.span.until.at,
            changed=describe_request(self.span, self.request),
            decisions=total,
            equal=retracing.equal,
            unknown=retracing.unknown,
            inexact=retracing.inexact,
            first=first.pk if first is not None else None,
            first_at=first.at if first is not None else None,
            recorded=sum_up(recording.levels, total),
            replayed=sum_up(levels, attempts),
            differing=len(differing),
            differences=differing[:MAX_LISTED],
            times=[datetime.fromtimestamp(each, UTC) for each in recording.samples.times],
            recorded_series=list_series(recording.samples),
            replayed_series=list_series(samples),
            priorities=list_priorities(recording.levels, levels),
            effects=self._list_effects(),
        )

    def _list_effects(self) -> list[Effect]:
        """What the configuration of the replay differs in from that of the first decision."""
        if self.span.configuration is None:
            return []
        first = SchedulingDecision.objects.get(pk=self.span.decisions[0][2])
        recorded = choose_configuration(self.span.cluster, revision=first.profile_revision)
        return list_effects(recorded.loaded, self.span.configuration.loaded)

    def _names(self) -> dict[str, str]:
        """uid -> "namespace/name" of pods that were decided about."""
        rows = SchedulingDecision.objects.filter(pk__in=[n for _, _, n in self.span.decisions])
        keys = rows.values_list("pod_uid", "namespace", "name").distinct()
        return {str(uid): f"{namespace}/{name}" for uid, namespace, name in keys}


def describe_request(span: Span, request: ReplayRequest) -> str:
    """What a replay changes, as a sentence names it: "revision 3, seed 7"; or "nothing"."""
    parts = []
    if request.configuration or request.revision is not None:
        assert span.configuration is not None
        parts.append(span.configuration.name)
    for name, is_on in (request.feature_gates or {}).items():
        parts.append(f"{name}={str(is_on).lower()}")
    if request.seed is not None:
        parts.append(f"seed {request.seed}")
    return ", ".join(parts) or "nothing"


def _created_at(pod: Pod) -> float:
    created = pod.metadata.creation_timestamp
    return datetime.fromisoformat(created).astimezone(UTC).timestamp() if created else 0.0

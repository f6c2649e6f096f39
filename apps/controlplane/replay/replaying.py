"""Replays a span of a cluster's life; nothing is written."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from apps.cluster import kinds
from apps.cluster.log.changelog import LoggedChange
from apps.cluster.models import Cluster
from apps.controlplane.lab.base import Base, build_scheduler
from apps.controlplane.lab.configurations import choose_configuration
from apps.controlplane.lab.run import VirtualClock
from apps.controlplane.loop.informer import decode
from apps.controlplane.loop.recorder import USER as SCHEDULER
from apps.controlplane.models import SchedulingDecision
from apps.controlplane.rebuilding.objects import read_objects_at
from apps.controlplane.replay.continuing import Continuing
from apps.controlplane.replay.differences import Attempt, Differences
from apps.controlplane.replay.draws import RecordedTies
from apps.controlplane.replay.inputs import Inputs
from apps.controlplane.replay.levels import SERIES, Levels, Samples
from apps.controlplane.replay.queueing import fill_queue
from apps.controlplane.replay.report import MAX_LISTED, Figures, PodDifference, ReplayReport
from apps.controlplane.replay.retracing import Retracing
from apps.controlplane.replay.span import ReplayRequest, Span, find_span
from apps.scheduler.objects import Node, Pod

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
    is_free: bool = False,
) -> ReplayReport:
    """Replay a span; raises the errors of `find_span`.

    `progress` receives the number of recorded decisions that are reached, and their total. With
    `is_free` the replay's own queue decides from the first decision on, also about an unchanged
    one.
    """
    return Replay(find_span(cluster, request), request, progress, is_free).run()


@dataclass(slots=True)
class Recording:
    """The recorded life, change by change."""

    span: Span
    levels: Levels
    samples: Samples
    inputs: Inputs = field(default_factory=Inputs)
    #: uid of a pod -> when it was created in the span, to the microsecond
    created: dict[str, float] = field(default_factory=dict)
    _changes: Iterator[LoggedChange] | None = None
    _next: LoggedChange | None = None

    def start(self) -> None:
        since = self.span.since
        for each in read_objects_at(self.span.cluster, since.version, [kinds.NODE, kinds.POD]):
            if isinstance(each.item, Node):
                self.levels.put_node(each.item)
            elif isinstance(each.item, Pod):
                self.levels.put_pod(each.item, since.at.timestamp(), counts=False)
        self._changes = self.span.changes(since.version)
        self._next = next(self._changes, None)

    def until(self, version: int) -> Iterator[LoggedChange]:
        """The next changes up to a version; each is part of the levels when it is yielded."""
        assert self._changes is not None
        while self._next is not None and self._next.version <= version:
            change, self._next = self._next, next(self._changes, None)
            self._take(change)
            yield change

    def _take(self, change: LoggedChange) -> None:
        at = change.at.timestamp()
        self.samples.pass_until(at, self.levels)
        if change.kind not in ("Node", "Pod"):
            return
        is_gone = change.type == "DELETED"
        is_leaving = is_gone or change.object["metadata"].get("deletionTimestamp")
        if change.kind == "Pod" and change.user == SCHEDULER and is_leaving:
            self.levels.preempted.add(change.uid)
        if is_gone:
            remove = self.levels.remove_pod if change.kind == "Pod" else self.levels.remove_node
            remove(change.uid if change.kind == "Pod" else change.name)
            return
        item = decode(change.kind, change.object)
        if isinstance(item, Node):
            self.levels.put_node(item)
        elif isinstance(item, Pod):
            if change.type == "ADDED":
                self.created[change.uid] = at
            self.levels.put_pod(item, at)


@dataclass(slots=True)
class Replay:
    """One replay."""

    span: Span
    request: ReplayRequest
    progress: Progress
    is_free: bool = False
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
        first = differing
        continuing, differences = self._continue(retracing, first)
        return self._report(retracing, first, continuing, differences)

    def _retrace(self, retracing: Retracing) -> SchedulingDecision | None:
        """Make the recorded decisions again; the first one that differs."""
        for number, row in enumerate(self.span.rows()):
            self.progress(number, len(self.span.decisions))
            self._done = number
            for change in self.recording.until(row.cluster_version):
                self.recording.inputs.classify(change)
            if not retracing.is_same(row) or self.is_free:
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
        found: dict[str, float] = {}
        for uid, (bound, finished) in self.span.read_times().items():
            if finished is not None and finished > now:
                start = max(bound, now) if bound is not None and bound < now else bound or now
                found[uid] = max(0.0, (finished - start).total_seconds())
        return found

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
        attempts = total if continuing is None else self._equal(retracing) + continuing.attempts
        found = (
            list(_compare(recording.levels, continuing, differences, self._names(differences)))
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
            recorded=_figures(recording.levels, total),
            replayed=_figures(levels, attempts),
            differing=len(found),
            differences=found[:MAX_LISTED],
            times=[datetime.fromtimestamp(each, UTC) for each in recording.samples.times],
            recorded_series=_series(recording.samples),
            replayed_series=_series(samples),
        )

    def _equal(self, retracing: Retracing) -> int:
        return retracing.equal + retracing.unknown

    def _names(self, differences: Differences | None) -> dict[str, str]:
        """uid -> "namespace/name" of pods that were decided about."""
        rows = SchedulingDecision.objects.filter(pk__in=[n for _, _, n in self.span.decisions])
        found = rows.values_list("pod_uid", "namespace", "name").distinct()
        return {str(uid): f"{namespace}/{name}" for uid, namespace, name in found}


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


def _compare(
    recorded: Levels, continuing: Continuing, differences: Differences, names: Mapping[str, str]
) -> Iterator[PodDifference]:
    """The pods whose outcome differs: first those with a cause, in its order."""
    replayed = continuing.levels
    uids = dict.fromkeys(
        [
            *differences.first,
            *recorded.bound,
            *replayed.bound,
            *recorded.preempted,
            *replayed.preempted,
        ]
    )
    inverse = {continuing.resolve(uid): uid for uid in continuing.instead}
    seen: set[str] = set()
    for found in uids:
        uid = inverse.get(found, found)
        ours = continuing.resolve(uid)
        if uid in seen:
            continue
        seen.add(uid)
        before, after = recorded.bound.get(uid), replayed.bound.get(ours)
        nodes = (before[0] if before else "", after[0] if after else "")
        preempted = (uid in recorded.preempted, ours in replayed.preempted)
        if nodes[0] == nodes[1] and preempted[0] == preempted[1]:
            continue
        first = differences.first.get(ours) or differences.first.get(uid)
        namespace, _, name = (first.pod_key if first else names.get(uid, "/")).partition("/")
        yield PodDifference(
            namespace=namespace,
            name=name,
            uid=uid,
            kind=_kind(nodes, preempted),
            node_before=nodes[0],
            node_after=nodes[1],
            waited_before=before[1] if before else None,
            waited_after=after[1] if after else None,
            attempt=first.attempt if first else None,
            decision=first.decision if first else None,
            cause=first.cause if first else _untried(preempted),
            follows=names.get(first.follows, "") if first else "",
        )


def _kind(nodes: tuple[str, str], preempted: tuple[bool, bool]) -> str:
    if nodes[0] == nodes[1]:
        return "not preempted" if preempted[0] else "preempted"
    if nodes[0] and nodes[1]:
        return "other node"
    return "only recorded" if nodes[0] else "only replayed"


def _untried(preempted: tuple[bool, bool]) -> str:
    if preempted[1] and not preempted[0]:
        return "preempted by a pod that was not placed like this in the record"
    if preempted[0] and not preempted[1]:
        return "not preempted: the pod that preempted it is on another node, or is pending"
    return "not tried at the same time"


def _figures(levels: Levels, attempts: int) -> Figures:
    waits = [seconds for _, seconds in levels.bound.values()]
    p50, p99 = (float(np.percentile(waits, q)) if waits else None for q in (50, 99))
    return Figures(
        attempts=attempts,
        bound=len(levels.bound),
        pending=len(levels.pending),
        preempted=len(levels.preempted),
        waiting_p50=p50,
        waiting_p99=p99,
    )


def _series(samples: Samples) -> dict[str, list[float | None]]:
    def value(measured: Mapping[str, Any], name: str) -> float | None:
        found = measured.get(name)
        return round(found, 6) if found is not None else None

    return {name: [value(each, name) for each in samples.values] for name, _ in SERIES}


def _created_at(pod: Pod) -> float:
    created = pod.metadata.creation_timestamp
    return datetime.fromisoformat(created).astimezone(UTC).timestamp() if created else 0.0

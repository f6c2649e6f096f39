"""One run: a scenario with one cluster, one profile and one seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from apps.cluster import kinds, limits
from apps.cluster.errors import ApiError
from apps.cluster.kinds import Kind
from apps.cluster.writes import Create
from apps.scheduler.config import ConfigError
from apps.studies.importers.recorded_events import TimedWrite
from apps.studies.importers.source_files import Files
from apps.studies.scenarios.language.reading import Path, Source
from apps.studies.scenarios.language.types import (
    Expectation,
    Operation,
    ProfileSpec,
    Scenario,
    Workload,
)
from apps.studies.scenarios.memory.cluster import MemoryCluster, parse_start
from apps.studies.scenarios.results.baseline import Baseline, read_baseline
from apps.studies.scenarios.results.checking import Outcome, check
from apps.studies.scenarios.running import reading
from apps.studies.scenarios.running.acting import Actions
from apps.studies.scenarios.running.furnishing import (
    first_objects,
    given_objects,
    read_configuration,
)
from apps.studies.scenarios.running.recording import Recorder
from apps.studies.scenarios.running.timeline import Timeline, start_times
from apps.studies.scenarios.running.workload_pods import arrival_times, build_pods, mark

Body = dict[str, Any]
#: Called with the seconds of the scenario that have passed.
Progress = Callable[[float], None]

#: A run without a duration ends at the latest so long after the last thing in its file.
_LONGEST_REST: Final = 7 * 86400.0
#: What is due already and does not act is looked at again so much later.
_SHORTEST_STEP: Final = 0.001


@dataclass(frozen=True, slots=True)
class Variation:
    """Which cluster, profile and seed a run has."""

    cluster: str
    profile: str
    seed: int

    @property
    def name(self) -> str:
        """ "default, seed 1", with the cluster if it has a name."""
        parts = [] if self.cluster == "cluster" else [self.cluster]
        return ", ".join([*parts, self.profile, f"seed {self.seed}"])


@dataclass(slots=True)
class FinishedRun:
    """What happened in a run."""

    variation: Variation
    outcomes: list[Outcome]
    recorder: Recorder
    #: how long it was, by the virtual clock
    seconds: float
    #: processor time that it took
    cost: float

    @property
    def passed(self) -> bool:
        return all(outcome.met for outcome in self.outcomes)


@dataclass(slots=True)
class ScenarioRun:
    """Runs a scenario once; raises ScenarioError that names the field of what fails."""

    scenario: Scenario
    source: Source
    variation: Variation
    files: Files = field(default_factory=Files)
    progress: Progress = lambda seconds: None
    _timeline: Timeline = field(default_factory=Timeline)
    _outcomes: dict[int, Outcome] = field(default_factory=dict)
    _baselines: dict[int, Baseline] = field(default_factory=dict)
    #: pods that arrive by themselves, of all workloads
    _planned: int = 0

    def run(self) -> FinishedRun:
        """Run it until its end."""
        began = time.process_time()
        self._baselines = self._read_baselines()
        cluster = self._build_cluster()
        try:
            recorder = Recorder(cluster, self._interval())
            recorder.start()
            self._furnish(cluster)
            self._plan(cluster, recorder)
            self._play(cluster, recorder)
            recorder.finish()
            for index, expectation in enumerate(self.scenario.expectations):
                if index not in self._outcomes:
                    self._check(index, expectation, recorder)
        finally:
            cluster.close()
        outcomes = [self._outcomes[index] for index in sorted(self._outcomes)]
        seconds = cluster.elapsed
        cost = time.process_time() - began
        return FinishedRun(self.variation, outcomes, recorder, seconds, cost)

    @property
    def _spec_path(self) -> Path:
        return ("clusters", self.variation.cluster) if self.scenario.clusters else ("cluster",)

    def _interval(self) -> float:
        return max(self.scenario.duration / 120, 1.0) if self.scenario.duration else 1.0

    def _build_cluster(self) -> MemoryCluster:
        spec = self.scenario.all_clusters[self.variation.cluster]
        profile = self.scenario.sweep.profiles.get(self.variation.profile, ProfileSpec())
        is_own = profile.configuration or profile.feature_gates
        path: Path = ("sweep", "profiles", self.variation.profile) if is_own else self._spec_path
        try:
            configuration = read_configuration(spec, profile)
            return MemoryCluster(
                configuration,
                start=parse_start(self.scenario.start),
                seed=self.variation.seed,
                tie_break=spec.tie_break,
                controllers=spec.controllers,
            )
        except ConfigError as error:
            raise self.source.error([((*path, "configuration"), str(error))]) from error

    def _furnish(self, cluster: MemoryCluster) -> None:
        spec = self.scenario.all_clusters[self.variation.cluster]
        path = self._spec_path
        now = cluster.row.now()
        self._create(cluster, list(first_objects(spec, now)), (*path, "nodes"))
        for index, each in enumerate(spec.imports):
            where: Path = (*path, "imports", index)
            with_file = partial(reading.import_objects, each, self.files)
            self._create(cluster, self._guard(where, with_file), where)
        self._create(cluster, list(given_objects(spec.objects)), (*path, "objects"))
        cluster.settle()

    def _create(
        self, cluster: MemoryCluster, objects: Sequence[tuple[Kind, Body]], path: Path
    ) -> None:
        writes = [Create(kind, body) for kind, body in objects]
        self._guard(path, lambda: cluster.write([_in_default(each) for each in writes]))

    def _plan(self, cluster: MemoryCluster, recorder: Recorder) -> None:
        """Fill the timeline."""
        scenario, seed = self.scenario, self.variation.seed
        end = scenario.duration
        recorded = {
            index: self._guard(("workloads", index), partial(reading.read, each.trace, self.files))
            for index, each in enumerate(scenario.workloads)
            if each.trace is not None
        }

        def length(workload: Workload, start: float) -> float:
            times = arrival_times(workload, start, end, seed)
            entries = recorded.get(scenario.workloads.index(workload), [])
            return max([*times, *(start + each.at for each in entries)], default=start) - start

        starts = start_times(scenario, length)
        actions = Actions(cluster, lambda s, call: self._timeline.add(cluster.elapsed + s, call))
        for index, (workload, start) in enumerate(zip(scenario.workloads, starts, strict=False)):
            self._plan_workload(cluster, actions, index, workload, start, recorded.get(index, []))
        for index, operation in enumerate(scenario.operations):
            start = starts[len(scenario.workloads) + index]
            for number in range(operation.times):
                at = start + number * float(operation.every)
                self._timeline.add(at, partial(self._operate, actions, index, operation))
        for index, expectation in enumerate(scenario.expectations):
            if expectation.at is not None:
                call = partial(self._check_when_settled, index, expectation, cluster, recorder)
                self._timeline.add(expectation.at, call)

    def _plan_workload(
        self,
        cluster: MemoryCluster,
        actions: Actions,
        index: int,
        workload: Workload,
        start: float,
        recorded: Sequence[TimedWrite],
    ) -> None:
        path: Path = ("workloads", index)
        if workload.objects:
            call = partial(actions.apply, workload.objects, workload.name)
            self._timeline.add(start, partial(self._guard, (*path, "objects"), call))
        for entry in recorded:
            self._timeline.add(start + entry.at, partial(self._replay, cluster, entry, path))
        times = arrival_times(workload, start, self.scenario.duration, self.variation.seed)
        self._planned += len(times)
        if not limits.SCENARIO_PODS.admits(self._planned):
            most = limits.SCENARIO_PODS.highest
            raise self.source.error([(path, f"a run creates at most {most:,} pods")])
        bodies = build_pods(workload, len(times), self.variation.seed)
        for at, body in zip(times, bodies, strict=True):
            create = Create(kinds.POD, body, body["metadata"]["namespace"])
            self._timeline.add(at, partial(self._guard, path, partial(cluster.write, [create])))

    def _replay(self, cluster: MemoryCluster, entry: TimedWrite, path: Path) -> None:
        """A write of a recording; what it refers to may not exist any more, or already."""
        name = self.scenario.workloads[int(path[1])].name
        for write in entry.writes:
            call: Callable[[], Any]
            if not isinstance(write, Create):
                call = partial(cluster.write_if_present, write)
            elif write.kind is not kinds.POD and _exists(cluster, write):
                continue
            else:
                body = mark({"kind": write.kind.name, **write.body}, name)
                call = partial(cluster.write, [Create(write.kind, body, write.namespace)])
            self._guard(path, call, entry.place)

    def _operate(self, actions: Actions, index: int, operation: Operation) -> None:
        self._guard(("operations", index), lambda: actions.act(operation))

    def _guard(self, path: Path, call: Callable[[], Any], place: str = "") -> Any:
        """The result of a call; its ApiError becomes one about the field, and `place` in a file."""
        try:
            return call()
        except ApiError as error:
            message = f"{place}: {error.message}" if place else error.message
            raise self.source.error([(path, message)]) from error

    def _check_when_settled(
        self, index: int, expectation: Expectation, cluster: MemoryCluster, recorder: Recorder
    ) -> None:
        """Check it after everything else that happens at this time."""
        cluster.settle()
        self._check(index, expectation, recorder)

    def _check(self, index: int, expectation: Expectation, recorder: Recorder) -> None:
        self._outcomes[index] = check(expectation, recorder, self._baselines.get(index))

    def _read_baselines(self) -> dict[int, Baseline]:
        return {
            index: self._guard(
                ("expectations", index, "notWorse"),
                partial(
                    read_baseline,
                    each.not_worse,
                    self.files,
                    self.scenario.name,
                    self.variation.name,
                ),
            )
            for index, each in enumerate(self.scenario.expectations)
            if each.not_worse is not None
        }

    def _play(self, cluster: MemoryCluster, recorder: Recorder) -> None:
        """Let time pass: jump to what happens next, until nothing does."""
        end = self.scenario.duration
        planned = 0.0
        while True:
            for call in self._timeline.pop_due(cluster.elapsed):
                call()
            cluster.settle()
            self.progress(cluster.elapsed)
            following = self._timeline.next_time()
            planned = planned if following is None else following
            times = (following, cluster.next_time())
            at = min((each for each in times if each is not None), default=None)
            if at is not None and at <= cluster.elapsed:
                at = cluster.elapsed + _SHORTEST_STEP
            if end is not None and (at is None or at > end):
                recorder.pass_time(end)
                cluster.jump(end)
                return
            if at is None or (end is None and following is None and cluster.waits_in_vain):
                return
            if end is None and at > planned + _LONGEST_REST:
                raise self.source.error([((), "does not come to rest: set duration")])
            recorder.pass_time(at)
            cluster.jump(at)


def _in_default(write: Create) -> Create:
    """The creation, in the namespace of its object or in "default"."""
    if not write.kind.namespaced:
        return write
    namespace = write.body["metadata"].get("namespace") or "default"
    return Create(write.kind, write.body, namespace)


def _exists(cluster: MemoryCluster, write: Create) -> bool:
    """Whether the cluster has the object, as every cluster has its first namespaces."""
    name = write.body["metadata"].get("name", "")
    return cluster.objects.find(write.kind, write.namespace, name) is not None

"""All runs of a scenario: with each cluster, each profile and each seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from apps.studies.importers.source_files import Files
from apps.studies.scenarios.language.checking import check_scenario
from apps.studies.scenarios.language.reading import Source, read_scenario
from apps.studies.scenarios.language.types import Scenario
from apps.studies.scenarios.running.run import FinishedRun, ScenarioRun, Variation

#: Called with the number of finished runs, the next run, and the seconds of it that have passed.
Progress = Callable[[int, Variation, float], None]


@dataclass(slots=True)
class FinishedScenario:
    """A scenario with all its runs."""

    scenario: Scenario
    runs: list[FinishedRun] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(run.passed for run in self.runs)


def load_scenario(source: Source) -> Scenario:
    """The scenario of a text, checked; raises ScenarioError."""
    scenario = read_scenario(source)
    check_scenario(scenario, source)
    return scenario


def variations_of(scenario: Scenario) -> Iterator[Variation]:
    """The runs of a scenario."""
    for cluster in scenario.all_clusters:
        for profile in list(scenario.sweep.profiles) or ["default"]:
            for seed in scenario.sweep.seeds or [scenario.seed]:
                yield Variation(cluster, profile, seed)


def run_scenario(
    scenario: Scenario,
    source: Source,
    files: Files,
    progress: Progress = lambda done, variation, seconds: None,
) -> FinishedScenario:
    """Run it with every variation, one after the other; raises ScenarioError."""
    finished = FinishedScenario(scenario)
    for done, variation in enumerate(variations_of(scenario)):

        def report(seconds: float, done: int = done, variation: Variation = variation) -> None:
            progress(done, variation, seconds)

        run = ScenarioRun(scenario, source, variation, files, report)
        finished.runs.append(run.run())
    return finished

"""The pages of scenarios: the list of runs, one scenario, two runs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from apps.administration.operations import scenarios
from apps.cluster.errors import BadRequest, NotFound
from apps.dashboard import charts
from apps.dashboard.paging import NumberedPage, numbered_page
from apps.engine.models import Operation
from apps.scheduler.config.durations import go_duration
from apps.studies.scenarios.results.comparing import RunComparison, compare_runs
from apps.studies.scenarios.results.text import describe_figures

Body = Mapping[str, Any]

#: series -> label and unit
_SERIES: Mapping[str, tuple[str, str]] = {
    "running": ("on nodes", "pods"),
    "pending": ("pending", "pods"),
    "cpu": ("cpu", "share"),
    "memory": ("memory", "share"),
    "imbalance": ("cpu", "share"),
}
#: The charts of a run: id, title, series, what they show.
_CHARTS = (
    ("pods", "Pods", ("running", "pending"), "Pods on nodes, and pods that wait."),
    ("use", "Utilization", ("cpu", "memory"), "Requested over allocatable of the cluster."),
    (
        "imbalance",
        "Imbalance",
        ("imbalance",),
        "Standard deviation of the utilization over the nodes: 0 % if all are used alike.",
    ),
)
#: The charts of two runs have a line of each.
_COMPARED = {
    "pending": "Pending pods",
    "running": "Pods on nodes",
    "cpu": "Utilization: cpu",
    "memory": "Utilization: memory",
    "imbalance": "Imbalance of cpu",
}
#: Scenarios whose runs can be chosen for a comparison.
_MOST_CHOICES = 20
#: Names of figures, and how they are shown.
_FIGURES = {
    "seconds": ("Simulated time", "duration"),
    "processor_seconds": ("Processor time", "duration"),
    "pods": ("Pods", "count"),
    "bound": ("Bound", "count"),
    "pending": ("Pending at the end", "count"),
    "succeeded": ("Succeeded", "count"),
    "preempted": ("Preempted", "count"),
    "evicted": ("Evicted", "count"),
    "attempts": ("Attempts", "count"),
    "waited_p50": ("Waiting time, median", "duration"),
    "waited_p99": ("Waiting time, p99", "duration"),
    "waited_max": ("Waiting time, longest", "duration"),
    "cpu_utilization": ("Requested CPU, average", "share"),
    "memory_utilization": ("Requested memory, average", "share"),
    "imbalance": ("Imbalance of CPU at the end", "share"),
    "nodes_used": ("Nodes used at the end", "count"),
}


@dataclass(frozen=True, slots=True)
class ShownRun:
    """One run of a scenario."""

    #: "12.0": the operation and the index of the run
    key: str
    run: Body
    summary: str
    #: charts over the simulated time, as `charts.write_plots` writes them
    plots: str
    #: the pods that wait or were disrupted
    pods: Sequence[Body]


@dataclass(frozen=True, slots=True)
class ShownFigure:
    """A figure of two runs, as text."""

    name: str
    first: str
    second: str
    difference: str


@dataclass(frozen=True, slots=True)
class ShownComparison:
    """Two runs side by side."""

    first: ShownRun
    second: ShownRun
    comparison: RunComparison
    figures: Sequence[ShownFigure]
    #: each figure over time, with a line of each run
    plots: str


def list_runs(query: Mapping[str, str], user: User) -> NumberedPage[Operation]:
    """A page of the scenarios that a user may see."""
    return numbered_page(scenarios.runs_of(user), query)


def list_choices(user: User) -> list[tuple[str, str]]:
    """The runs that can be compared, of the last scenarios: names and texts."""
    recent = scenarios.runs_of(user).filter(state=Operation.State.SUCCEEDED)[:_MOST_CHOICES]
    return [
        (f"{each.pk}.{index}", f"{each.arguments['name']} ({each.pk}), run {index + 1}")
        for each in recent
        for index in range(each.arguments["runs"])
    ]


def show_runs(operation: Operation, result: Body) -> list[ShownRun]:
    """The runs of a scenario that has been run."""
    return [_show(f"{operation.pk}.{index}", run) for index, run in enumerate(result["runs"])]


def compare(first: str, second: str, user: User) -> ShownComparison:
    """Compare two runs, named by operation and index; NotFound, or BadRequest for other names."""
    runs = [_find_run("first", first, user), _find_run("second", second, user)]
    comparison = compare_runs(runs[0].run, runs[1].run)
    figures = [
        ShownFigure(
            _FIGURES[pair.name][0],
            _text(pair.name, pair.first),
            _text(pair.name, pair.second),
            _text(pair.name, pair.difference, signed=True),
        )
        for pair in comparison.figures
        if pair.name in _FIGURES
    ]
    return ShownComparison(runs[0], runs[1], comparison, figures, _plot_both(*runs))


def _find_run(field: str, key: str, user: User) -> ShownRun:
    number, _, index = key.partition(".")
    if not (number.isdecimal() and index.isdecimal()) or len(number) > 18 or len(index) > 4:
        raise BadRequest(f"{field}: {key!r} is not a run such as 12.0")
    operation = scenarios.runs_of(user).filter(pk=int(number)).first()
    result = None if operation is None else scenarios.result_of(operation)
    if result is None or int(index) >= len(result["runs"]):
        raise NotFound("runs of scenarios", key)
    run = result["runs"][int(index)]
    return _show(key, {**run, "name": f"{result['name']}: {run['name']}"})


def _show(key: str, run: Body) -> ShownRun:
    pods = [pod for pod in run["pods"] if pod["disruption"] or not pod["node"]]
    return ShownRun(key, run, describe_figures(run["figures"]), _plot(run), pods)


def _plot(run: Body) -> str:
    series = run["series"]
    plots = [
        charts.Plot(
            name,
            title,
            _SERIES[parts[0]][1],
            [charts.PlotLine(_SERIES[each][0], series[each]) for each in parts],
            text,
        )
        for name, title, parts, text in _CHARTS
    ]
    return charts.write_plots(series["at"], plots, elapsed=True)


def _plot_both(first: ShownRun, second: ShownRun) -> str:
    runs = {"first": first.run["series"], "second": second.run["series"]}
    names = {"first": first.run["name"], "second": second.run["name"]}
    times: Sequence[float] = ()
    plots = []
    for each, title in _COMPARED.items():
        own = {key: (series["at"], series[each]) for key, series in runs.items()}
        times, lines = charts.merge_times(own)
        named = [charts.PlotLine(names[line.name], line.values) for line in lines]
        plots.append(charts.Plot(each, title, _SERIES[each][1], named))
    return charts.write_plots(times, plots, elapsed=True)


def _text(name: str, value: float | None, *, signed: bool = False) -> str:
    if value is None:
        return "–"
    sign = "−" if value < 0 else "+" if signed and value > 0 else ""
    match _FIGURES[name][1]:
        case "duration":
            return f"{sign}{go_duration(round(abs(value), 2))}"
        case "share":
            return f"{sign}{abs(value) * 100:.1f} {'points' if signed else '%'}"
    return f"{sign}{abs(value):,.0f}"

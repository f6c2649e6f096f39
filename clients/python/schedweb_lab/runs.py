"""Replays and scenarios that were started, and their results as tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from schedweb_lab.connection import Connection, Json, Row, Table, as_table

#: A configuration as YAML or as a dict, the number of a revision, or None: unchanged.
Profile = str | Mapping[str, Any] | int | None

#: What was recorded, that continued in the way of the replay, and what was replayed.
LIVES = ("recorded", "baseline", "replayed")


class Comparison(NamedTuple):
    """What was recorded beside what was replayed."""

    #: a row for each figure: `figure`, `recorded`, `baseline`, `replayed`; waiting times compare
    #: with the baseline, in which attempts take no time either (None if nothing differs)
    figures: Table
    #: a row for each pod that differs, with its nodes and the first cause
    pods: Table
    #: a row for each time and level: `at`, `level`, `recorded`, `baseline`, `replayed`
    series: Table
    #: a row for each effective difference of the configurations: `what`, `before`, `after`
    effects: Table


class LabReplay:
    """A replay. What needs its report waits for it."""

    def __init__(self, lab: Connection, path: str, number: int) -> None:
        self.id = number
        self._lab, self._path = lab, path
        self._report: Json | None = None

    def wait(self, timeout: float = 600.0) -> LabReplay:
        """Wait until it has ended; LabError if it fails, or after `timeout` seconds."""
        self._lab.wait(self.id, timeout=timeout)
        return self

    def report(self) -> Json:
        """The report: `decisions`, `equal`, `differing`, `first` …"""
        if self._report is None:
            self.wait()
            self._report = self._lab.get(self._path)["report"]
        return self._report

    def compare(self) -> Comparison:
        """The report as tables."""
        report = self.report()
        figures = [
            {"figure": name, **{life: (report[life] or {}).get(name) for life in LIVES}}
            for name in report["recorded"]
        ]
        pods, effects = as_table(report["differences"]), as_table(report["effects"])
        return Comparison(as_table(figures), pods, as_table(_list_levels(report)), effects)

    def priorities(self) -> Table:
        """A row for each priority class and life: pods, and seconds until they were bound."""
        return as_table(
            [
                {
                    "priority": each["priority"],
                    "priority_class": each["priority_class"],
                    "life": life,
                    **each[life],
                }
                for each in self.report()["priorities"]
                for life in LIVES
                if each[life] is not None
            ]
        )


class LabScenario:
    """A scenario that was started. What needs its result waits for it."""

    def __init__(self, lab: Connection, number: int) -> None:
        self.id = number
        self._lab = lab
        self._result: Json | None = None

    def wait(self, timeout: float = 600.0) -> LabScenario:
        """Wait until it has ended; LabError if it fails, or after `timeout` seconds."""
        self._lab.wait(self.id, timeout=timeout)
        return self

    def result(self) -> Json:
        """The result: `passed`, and the `runs` with expectations, figures and pods."""
        if self._result is None:
            self.wait()
            output = self._lab.get(f"/operations/{self.id}/output")
            self._result = json.loads(output) if isinstance(output, bytes) else output
        return self._result

    def runs(self) -> Table:
        """A row for each run of the sweep: profile, seed, whether it passed, and its figures."""
        names = ("name", "cluster", "profile", "seed", "passed")
        return as_table(
            [{name: run[name] for name in names} | run["figures"] for run in self.result()["runs"]]
        )

    def expectations(self) -> Table:
        """A row for each expectation of each run: whether it was met, and why not."""
        runs = self.result()["runs"]
        return as_table(
            [{"run": run["name"]} | each for run in runs for each in run["expectations"]]
        )


def describe_profile(profile: Profile) -> Row:
    """The fields of a request that choose a configuration."""
    if profile is None:
        return {}
    if isinstance(profile, int):
        return {"revision": profile}
    # JSON is YAML
    return {"configuration": profile if isinstance(profile, str) else json.dumps(dict(profile))}


def _list_levels(report: Json) -> list[Row]:
    series = {life: report[f"{life}_series"] for life in LIVES}
    return [
        {
            "at": at,
            "level": level,
            **{life: each[level][place] if each else None for life, each in series.items()},
        }
        for level in series["recorded"]
        for place, at in enumerate(report["times"])
    ]

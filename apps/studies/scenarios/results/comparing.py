"""Compares two presented runs: figures, expectations and pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FigurePair:
    """A figure of both runs; None where a run has none."""

    name: str
    first: float | None
    second: float | None

    @property
    def difference(self) -> float | None:
        if self.first is None or self.second is None:
            return None
        return round(self.second - self.first, 4)


@dataclass(frozen=True, slots=True)
class PodPair:
    """A pod that had another node, or waited longer or shorter; None where it did not exist."""

    namespace: str
    name: str
    first: Body | None
    second: Body | None


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs side by side."""

    figures: Sequence[FigurePair]
    #: (name, message of the first, of the second) where one was met and the other was not
    expectations: Sequence[tuple[str, Body | None, Body | None]]
    pods: Sequence[PodPair]
    #: whether the same pods had the same nodes at the same times
    is_equal: bool


def compare_runs(first: Body, second: Body) -> RunComparison:
    """Compare two runs as `presenting.present_run` returns them."""
    names = dict.fromkeys([*first["figures"], *second["figures"]])
    figures = [
        FigurePair(name, first["figures"].get(name), second["figures"].get(name)) for name in names
    ]
    return RunComparison(
        figures,
        list(_differing_expectations(first, second)),
        list(_differing_pods(first, second)),
        first["digest"] == second["digest"],
    )


def _differing_expectations(
    first: Body, second: Body
) -> Sequence[tuple[str, Body | None, Body | None]]:
    before = {each["name"]: each for each in first["expectations"]}
    after = {each["name"]: each for each in second["expectations"]}
    pairs = [(name, before.get(name), after.get(name)) for name in {**before, **after}]
    return [
        (name, one, other)
        for name, one, other in pairs
        if one is None or other is None or one["met"] != other["met"]
    ]


def _differing_pods(first: Body, second: Body) -> Sequence[PodPair]:
    before, after = _by_name(first), _by_name(second)
    return [
        PodPair(*key, before.get(key), after.get(key))
        for key in {**before, **after}
        if _fate(before.get(key)) != _fate(after.get(key))
    ]


def _by_name(run: Body) -> dict[tuple[str, str], Body]:
    return {(pod["namespace"], pod["name"]): pod for pod in run["pods"]}


def _fate(pod: Body | None) -> tuple[Any, ...] | None:
    fields = ("node", "created_at", "bound_at", "disruption", "phase")
    return None if pod is None else tuple(pod[name] for name in fields)

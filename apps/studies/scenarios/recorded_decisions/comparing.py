"""Compares a recorded decision with ours, plugin by plugin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from apps.scheduler.decision import Decision
from apps.studies.scenarios.recorded_decisions.results import PASSED, RecordedResults, Table

PRE_FILTER: Final = "PreFilter"
FILTER: Final = "Filter"
SCORE: Final = "Score"
FINAL_SCORE: Final = "FinalScore"
SELECTED_NODE: Final = "SelectedNode"
#: the scheduler's own choice, not a plugin's
NO_PLUGIN: Final = ""
_NO_VALUE: Final = "no result"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What both say at one extension point, about one node or the whole pod (`node` "")."""

    point: str
    plugin: str
    node: str
    recorded: str
    ours: str

    @property
    def is_equal(self) -> bool:
        return self.recorded == self.ours


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that was compared about one decision."""

    namespace: str
    name: str
    #: seconds since the start of the recording
    at: float
    recorded_node: str
    node: str
    #: nodes with the greatest total of ours
    tied: list[str]
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def differences(self) -> list[Verdict]:
        return [each for each in self.verdicts if not each.is_equal]


def compare(results: RecordedResults, decision: Decision) -> Iterator[Verdict]:
    """The verdicts at each extension point, in the order of the attempt."""
    yield from _compare_pre_filter(results, decision)
    yield from _compare_filters(results, decision)
    yield from _compare_scores(SCORE, results.scores, decision)
    yield from _compare_scores(FINAL_SCORE, results.final_scores, decision)
    ours = decision.node
    # among nodes with equal totals, each scheduler draws
    if results.selected_node and results.selected_node in decision.tied_nodes():
        ours = results.selected_node
    yield Verdict(SELECTED_NODE, NO_PLUGIN, "", results.selected_node or "none", ours or "none")


def _compare_pre_filter(results: RecordedResults, decision: Decision) -> Iterator[Verdict]:
    status = decision.pre_filter
    refused = {} if status.is_success else {status.plugin: status.message}
    recorded = {
        plugin: PASSED if text in ("success", "") else text
        for plugin, text in results.pre_filter.items()
    }
    for plugin in sorted({*recorded, *refused}):
        ours = refused.get(plugin, PASSED)
        yield Verdict(PRE_FILTER, plugin, "", recorded.get(plugin, _NO_VALUE), ours)


def _compare_filters(results: RecordedResults, decision: Decision) -> Iterator[Verdict]:
    """What each plugin says about each node that was filtered in the recording."""
    known = set(decision.nodes)
    for node, recorded in sorted(results.filters.items()):
        if node not in known:
            yield from (Verdict(FILTER, p, node, text, _NO_VALUE) for p, text in recorded.items())
            continue
        status = decision.status_of(node)
        refused = {} if status is None else {status.plugin: status.message}
        for plugin in sorted({*recorded, *refused}):
            ours = refused.get(plugin, PASSED)
            yield Verdict(FILTER, plugin, node, recorded.get(plugin, _NO_VALUE), ours)


def _compare_scores(point: str, recorded: Table, decision: Decision) -> Iterator[Verdict]:
    """Raw scores, or final ones: normalized, times the weight."""
    for node, given in sorted(recorded.items()):
        ours = _scores_of(decision, node, 0 if point == SCORE else 2)
        for plugin in sorted({*given, *ours}):
            values = given.get(plugin, _NO_VALUE), ours.get(plugin, _NO_VALUE)
            yield Verdict(point, plugin, node, *values)


def _scores_of(decision: Decision, node: str, position: int) -> Mapping[str, str]:
    try:
        scores = decision.scores_of(node)
    except KeyError:
        return {}
    return {plugin: str(values[position]) for plugin, values in scores.items()}

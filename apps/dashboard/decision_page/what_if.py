"""The panel *What if* of a decision: its weights, its filters, and what the address asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from apps.answers import to_json
from apps.cluster.errors import BadRequest
from apps.engine.ledger.records import DecisionRecord
from apps.engine.models import SchedulingDecision
from apps.engine.profiles.plugins import plugin_names
from apps.engine.results.flips import MAX_WEIGHT
from apps.engine.results.refusals import group_refusals
from apps.engine.results.scores import ScoreMatrix, score_matrix
from apps.studies.lab.counterfactuals import Counterfactual, Question, ask

#: The best nodes that the panel lists.
LISTED = 10
#: The parameter of a plugin's weight: "weight.ImageLocality".
_WEIGHT = "weight."


@dataclass(frozen=True, slots=True)
class Weight:
    """A plugin with scores; `highest` is the end of its slider."""

    plugin: str
    recorded: int
    weight: int
    highest: int


@dataclass(frozen=True, slots=True)
class Switch:
    """A filter plugin that rejected nodes, or that is off."""

    plugin: str
    #: the nodes that it rejected
    rejected: int
    is_off: bool


@dataclass(frozen=True, slots=True)
class RankedNode:
    """`recorded_total` is None for a node that had no scores."""

    node: str
    rank: int
    total: int
    recorded_total: int | None
    missed_by: int
    #: "chosen", "tied" or ""
    tag: str


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The panel; without an answer to the question, `problem` says why, and nothing changes."""

    answer: Counterfactual
    question: Question
    weights: Sequence[Weight]
    switches: Sequence[Switch]
    nodes: Sequence[RankedNode]
    problem: str = ""
    #: the parameters of the address that ask, for forms that keep them
    asked: Sequence[tuple[str, str]] = field(default=())

    @property
    def is_asked(self) -> bool:
        """Whether the address asks something."""
        return bool(self.asked)

    @property
    def is_changed(self) -> bool:
        """Whether the scores are not the recorded ones."""
        return bool(self.question.without) or any(
            each.weight != each.recorded for each in self.weights
        )

    @property
    def without_query(self) -> str:
        """The filters that are off, as the query of an address: "?without=TaintToleration"."""
        query = urlencode([("without", name) for name in self.question.without])
        return f"?{query}" if query else ""

    @property
    def listed(self) -> int:
        """How many nodes the panel lists at most."""
        return LISTED

    @property
    def matrix(self) -> ScoreMatrix:
        return self.answer.matrix


def what_if(row: SchedulingDecision, record: DecisionRecord, query: QueryDict) -> WhatIf:
    """The panel of a decision for `?weight.ImageLocality=3&without=TaintToleration`."""
    asked = [
        (name, value)
        for name, values in query.lists()
        for value in values
        if name == "without" or name.startswith(_WEIGHT)
    ]
    problem = ""
    try:
        question = _read_question(asked)
        answer = ask(row, record, question)
    except BadRequest as error:
        problem, question = error.message, Question(weights={})
        answer = ask(row, record, question)
    return WhatIf(
        answer,
        question,
        weights=_list_weights(answer),
        switches=_list_switches(record, question.without),
        nodes=_list_nodes(answer),
        problem=problem,
        asked=asked,
    )


def read_base_scores(
    row: SchedulingDecision, record: DecisionRecord, without: Sequence[str]
) -> Any:
    """The scores that a browser weighs: those without these filters, with the recorded weights.

    Without a filter that is off, they are those of the decision. With one, `recorded` has what a
    browser compares with: the nodes that were tied, and the totals.
    """
    if not without:
        return to_json(score_matrix(record.decision))
    answer = ask(row, record, Question(weights={}, without=without))
    totals = dict(zip(answer.recorded.nodes, answer.recorded.total.tolist(), strict=True))
    recorded = {"tied": sorted(answer.rule.tied), "totals": totals}
    return {**to_json(answer.matrix), "recorded": recorded}


def _read_question(asked: Sequence[tuple[str, str]]) -> Question:
    weights = {}
    for name, value in asked:
        if name == "without":
            continue
        plugin, text = name.removeprefix(_WEIGHT), value.strip()
        if not (text.isascii() and text.isdecimal() and len(text) <= 18):
            raise BadRequest(f"weight.{plugin}: must be a whole number from 0 to 100")
        weights[plugin] = int(text)
    return Question(weights=weights, without=[value for name, value in asked if name == "without"])


def _list_weights(answer: Counterfactual) -> list[Weight]:
    return [
        Weight(plugin, recorded, weight, max(MAX_WEIGHT, recorded))
        for plugin, recorded, weight in answer.weights
    ]


def _list_switches(record: DecisionRecord, without: Sequence[str]) -> list[Switch]:
    known = set(plugin_names())
    rejected: dict[str, int] = {}
    for group in group_refusals(record.decision):
        if group.plugin in known:
            rejected[group.plugin] = rejected.get(group.plugin, 0) + group.count
    names = sorted({*rejected, *without})
    return [Switch(name, rejected.get(name, 0), name in without) for name in names]


def _list_nodes(answer: Counterfactual) -> list[RankedNode]:
    recorded, matrix = answer.recorded, answer.matrix
    before = dict(zip(recorded.nodes, recorded.total.tolist(), strict=True))
    best = int(matrix.total[0]) if len(matrix.nodes) else 0
    return [
        RankedNode(
            node,
            rank=int(matrix.ranks[place]),
            total=int(matrix.total[place]),
            recorded_total=before.get(node),
            missed_by=best - int(matrix.total[place]),
            tag=_tag(matrix, place),
        )
        for place, node in enumerate(matrix.nodes[:LISTED])
    ]


def _tag(matrix: ScoreMatrix, place: int) -> str:
    if matrix.chosen and place == 0:
        return "chosen"
    return "tied" if place < matrix.tied else ""

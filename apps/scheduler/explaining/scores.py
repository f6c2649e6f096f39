"""What the scores of a decision were computed from, as the plugins say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from apps.scheduler.decision import Decision
from apps.scheduler.explaining.evaluation import Evaluation
from apps.scheduler.framework import guard
from apps.scheduler.framework.explanation import Detail, NormalizationExplainer, ScoreExplainer
from apps.scheduler.framework.extender import MAX_EXTENDER_PRIORITY
from apps.scheduler.framework.interface import (
    MAX_NODE_SCORE,
    NormalizeScorePlugin,
    Plugin,
    ScorePlugin,
)
from apps.scheduler.framework.plugin_scores import ScoreColumn

_NOTHING_DECLARED = "The plugin does not say what its scores follow from."
_BARE_NODE = (
    "An extender answered with nodes instead of names, so that the node was scored as if it had "
    "no pods and no images, as by kube-scheduler."
)
_OTHER_SCORE = (
    "The plugin returns another score for the rebuilt state, so its inputs are not those of the "
    "decision."
)


@dataclass(frozen=True, slots=True)
class ScoreInputs:
    """One score of one node, from its inputs to the points."""

    node: str
    #: the plugin, or the address of the extender
    plugin: str
    weight: int
    #: what Score returned
    raw: int
    #: after NormalizeScore, from 0 to 100
    normalized: int
    #: normalized times weight
    weighted: int
    #: what the raw score follows from; the last one is its formula
    inputs: Sequence[Detail] = ()
    #: how the raw score becomes one from 0 to 100, the last one is the formula; empty if the plugin
    #: does not normalize
    normalization: Sequence[Detail] = ()
    #: why there are no inputs; empty if there are
    gap: str = ""

    ANSWER: ClassVar = (
        *("plugin", "weight", "raw", "normalized", "weighted"),
        *("sentence", "inputs", "normalization", "gap"),
    )

    @property
    def sentence(self) -> str:
        """ "node-4 has 192 points from NodeAffinity: raw score 80, normalized 96, × weight 2"."""
        steps = [f"raw score {self.raw}"]
        if self.normalization:
            steps.append(f"normalized {self.normalized}")
        if self.weight != 1:
            steps.append(f"{self.normalized} × weight {self.weight}")
        points = f"{self.weighted} point{'' if self.weighted == 1 else 's'}"
        return f"{self.node} has {points} from {self.plugin}: {', '.join(steps)}."


class ScoredEvaluation:
    """A recorded decision in the state that it saw, with Filter and PreScore of its feasible nodes.

    ``evaluation`` must not be used afterwards for other feasible nodes. Scores are the recorded
    ones; inputs are given only for those that the plugin computes again.
    """

    def __init__(self, evaluation: Evaluation, decision: Decision) -> None:
        self._evaluation = evaluation
        self._decision = decision
        self._rows = decision.feasible
        self._same: dict[str, bool] = {}
        self._run_filter()
        evaluation.framework.run_pre_score_plugins(
            evaluation.state, evaluation.pod, evaluation.snapshot, self._rows
        )

    def _run_filter(self) -> None:
        """Some scores follow from what Filter found for a node, such as its devices."""
        evaluation = self._evaluation
        evaluation.framework.filters.run_filter_plugins_with_nominated_pods(
            evaluation.state, evaluation.pod, evaluation.snapshot.select(self._rows)
        )

    def inputs(self, node: str, plugin: str) -> ScoreInputs:
        """One plugin's (or extender's) score of a feasible node.

        Raises KeyError if there is none.
        """
        score, place = recorded_score(self._decision, node, plugin)
        column = self._decision.scores[plugin]
        explainer = self._evaluation.framework.plugins.get(plugin)
        if explainer is None:
            return _with_answer_of_extender(score)
        if not isinstance(explainer, ScoreExplainer):
            normalization = self._normalization(explainer, column, place)
            return replace(score, normalization=normalization, gap=_NOTHING_DECLARED)
        if not self._is_repeated(explainer, column):
            bare = self._decision.scores_bare_nodes
            return replace(score, gap=_BARE_NODE if bare else _OTHER_SCORE)
        inputs, gap = self._inputs(explainer, place)
        normalization = self._normalization(explainer, column, place)
        return replace(score, inputs=inputs, normalization=normalization, gap=gap)

    def _is_repeated(self, plugin: Plugin, column: ScoreColumn) -> bool:
        """Whether Score returns the recorded scores in this state."""
        known = self._same.get(plugin.name)
        if known is None:
            known = self._same[plugin.name] = self._repeats(plugin, column)
        return known

    def _repeats(self, plugin: Plugin, column: ScoreColumn) -> bool:
        assert isinstance(plugin, ScorePlugin)
        evaluation = self._evaluation
        try:
            raw = plugin.score(evaluation.state, evaluation.pod, evaluation.snapshot, self._rows)
        except Exception as raised:
            guard.failure(plugin.name, "Score", raised)
            return False
        return np.array_equal(raw, column.raw)

    def _inputs(self, plugin: ScoreExplainer, place: int) -> tuple[Sequence[Detail], str]:
        evaluation, row = self._evaluation, int(self._rows[place])
        try:
            nodes = evaluation.spot(row).nodes
            return list(plugin.explain_score(evaluation.state, evaluation.pod, nodes)), ""
        except Exception as raised:
            said = guard.failure(plugin.name, "ExplainScore", raised).message
            return (), f"The plugin failed to explain the score: {said}."

    def _normalization(self, plugin: Plugin, column: ScoreColumn, place: int) -> Sequence[Detail]:
        if not isinstance(plugin, NormalizeScorePlugin):
            return ()
        if isinstance(plugin, NormalizationExplainer) and self._is_repeated(plugin, column):
            evaluation = self._evaluation
            try:
                return list(
                    plugin.explain_normalization(
                        evaluation.state, evaluation.pod, column.raw, place
                    )
                )
            except Exception as raised:
                guard.failure(plugin.name, "ExplainNormalization", raised)
        return (_describe_range(column, place),)


def recorded_score(decision: Decision, node: str, plugin: str) -> tuple[ScoreInputs, int]:
    """The score without its inputs, and its place in the columns.

    Raises KeyError if there is none.
    """
    raw, normalized, weighted = decision.scores_of(node)[plugin]
    weight = decision.scores[plugin].weight
    place = int(np.flatnonzero(decision.feasible == decision.nodes.index(node))[0])
    return ScoreInputs(node, plugin, weight, raw, normalized, weighted), place


def recorded_inputs(decision: Decision, node: str, plugin: str, gap: str) -> ScoreInputs:
    """What only the ledger has: all about an extender; of a plugin its score, and the gap."""
    score, _ = recorded_score(decision, node, plugin)
    if any(call.extender == plugin for call in decision.extender_calls):
        return _with_answer_of_extender(score)
    return replace(score, gap=gap)


def _with_answer_of_extender(score: ScoreInputs) -> ScoreInputs:
    raw, factor = score.raw, MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY
    answer = f"the extender answered {raw}, on a scale from 0 to {MAX_EXTENDER_PRIORITY}"
    scaled = {"raw": raw, "factor": factor, "score": factor * raw}
    return replace(
        score,
        inputs=(Detail(answer, {"extender": score.plugin, "score": raw}),),
        normalization=(Detail(f"{factor} × {raw} = {factor * raw}", scaled),),
    )


def _describe_range(column: ScoreColumn, place: int) -> Detail:
    """What is known of a normalization that the plugin does not explain."""
    raw, least, greatest = (
        int(column.raw[place]),
        int(column.raw.min()),
        int(column.raw.max()),
    )
    score = int(column.normalized[place])
    return Detail(
        f"{raw} becomes {score}; raw scores are from {least} to {greatest}",
        {"raw": raw, "smallest": least, "greatest": greatest, "score": score},
    )

"""The pages of plugins: what a plugin declares, and its figures in one decision."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apps.cluster.errors import NotFound
from apps.dashboard.decision_page.inputs import ScoreBlock, score_block
from apps.dashboard.documents import plugin_documents
from apps.engine.models import SchedulingDecision
from apps.engine.profiles.plugins import known_plugins, registry
from apps.engine.results.refusals import RefusalGroup, group_refusals
from apps.engine.results.scores import PluginScores, ScoreMatrix, score_matrix
from apps.scheduler.config import EXTENSION_POINTS
from apps.scheduler.config.decoding import camel_case
from apps.scheduler.config.plugin_table import KnownPlugin, Origin
from apps.scheduler.decision import Decision
from apps.scheduler.explaining.scores import ScoreInputs
from apps.studies.explanations.nodes_not_chosen import NodeExplanation, explain_node
from apps.studies.explanations.scores import explain_scores

_ORIGINS = {
    Origin.IN_TREE: "in-tree, part of the default profile",
    Origin.LEGACY: "of an earlier release; only converted configurations may name it",
    Origin.OUTSIDE: "out-of-tree, installed on this site",
}


@dataclass(frozen=True, slots=True)
class PluginSummary:
    """A plugin as it declares itself."""

    plugin: KnownPlugin
    #: in the order of a scheduling cycle
    points: Sequence[str]
    #: of its scores in the default profile; None if it gives none
    weight: int | None
    origin: str
    summary: str
    #: the name of its document; "" without one
    document: str
    #: (field, default) of its arguments, for a plugin without a document
    arguments: Sequence[tuple[str, str]]
    #: the class's own description, for a plugin without a document
    description: str


@dataclass(frozen=True, slots=True)
class NodeScore:
    """The scores that a plugin gave a node, and the node's total and rank."""

    node: str
    score: ScoreInputs
    total: int
    rank: int
    is_chosen: bool
    #: what the score follows from, in the state that the decision saw
    block: ScoreBlock


@dataclass(frozen=True, slots=True)
class PluginFigures:
    """What a plugin did in one decision."""

    row: SchedulingDecision
    #: the selected node first
    scores: Sequence[NodeScore]
    #: over the feasible nodes: (lowest raw, highest raw); None if it gave no scores
    raw_range: tuple[int, int] | None
    refusals: Sequence[RefusalGroup]
    #: the first node that it rejected, or the requested one, with the figures
    rejected: NodeExplanation | None
    skipped: Sequence[str]
    #: (extension point, nanoseconds)
    times: Sequence[tuple[str, int]]

    @property
    def took_part(self) -> bool:
        return bool(self.scores or self.refusals or self.times or self.skipped)


def plugin_list(text: str = "") -> list[PluginSummary]:
    """Every plugin whose name or summary contains the text, in the order of the default profile."""
    summaries = [_summarize(plugin) for plugin in known_plugins().values()]
    wanted = text.strip().lower()
    return [each for each in summaries if wanted in f"{each.plugin.name} {each.summary}".lower()]


def plugin_summary(name: str) -> PluginSummary:
    """One plugin; NotFound if no plugin of the site has this name."""
    plugin = known_plugins().get(name)
    if plugin is None:
        raise NotFound("plugins", name)
    return _summarize(plugin)


def plugin_figures(
    row: SchedulingDecision, decision: Decision, name: str, node: str = ""
) -> PluginFigures:
    """The figures of a plugin in a decision; `node` is shown besides the best ones."""
    matrix = score_matrix(decision)
    scores = next((each for each in matrix.plugins if each.name == name), None)
    refusals = [group for group in group_refusals(decision) if group.plugin == name]
    rejected = _rejected_node(refusals, node)
    return PluginFigures(
        row,
        _node_scores(row, decision, matrix, scores, node),
        None if scores is None else (int(scores.raw.min()), int(scores.raw.max())),
        refusals,
        explain_node(row, decision, matrix, rejected) if rejected else None,
        _skipped(decision, name),
        [
            (point, times[name])
            for point, times in decision.plugin_durations.items()
            if name in times
        ],
    )


def _summarize(plugin: KnownPlugin) -> PluginSummary:
    document = plugin_documents().get(plugin.name)
    cls: Any = registry()[plugin.name]
    return PluginSummary(
        plugin,
        [point for point in EXTENSION_POINTS if point in plugin.extension_points],
        plugin.default_weight or 1 if "score" in plugin.extension_points else None,
        _ORIGINS[plugin.origin],
        _headline(document.summary if document else _describe(cls)),
        document.name if document else "",
        [] if document else _arguments(plugin),
        "" if document else _describe(cls),
    )


def _headline(text: str) -> str:
    """The first line of a description for a list: without the name before it and a full stop."""
    line = re.sub(r"^\w+(, \w+)*: ", "", text.partition("\n")[0]).rstrip(".")
    return line[:1].upper() + line[1:] if re.match(r"[a-z]+\b(?!\.)", line) else line


def _describe(cls: Any) -> str:
    """The class's own docstring, or that of its module."""
    module = inspect.getmodule(cls)
    text = cls.__doc__ or (module.__doc__ if module else "") or ""
    return inspect.cleandoc(text).replace("`", "")


def _arguments(plugin: KnownPlugin) -> list[tuple[str, str]]:
    """The arguments with their defaults, as a configuration writes both."""
    if plugin.args_type is None:
        return []
    empty = plugin.args_type()
    return [
        (camel_case(field.name), json.dumps(getattr(empty, field.name), default=str))
        for field in dataclasses.fields(plugin.args_type)
    ]


def _node_scores(
    row: SchedulingDecision,
    decision: Decision,
    matrix: ScoreMatrix,
    scores: PluginScores | None,
    node: str,
) -> list[NodeScore]:
    """The scores of the best two nodes, and of the requested one."""
    if scores is None:
        return []
    asked = [*matrix.nodes[:2], *([node] if matrix.find_place(node) is not None else [])]
    return [
        NodeScore(
            inputs.node,
            inputs.scores[0],
            inputs.total,
            inputs.rank,
            inputs.is_chosen,
            score_block(inputs.scores[0]),
        )
        for inputs in explain_scores(row, decision, list(dict.fromkeys(asked)), scores.name)
    ]


def _rejected_node(refusals: Sequence[RefusalGroup], node: str) -> str:
    names = [name for group in refusals for name in group.nodes]
    if node:
        return node if node in names else ""
    return names[0] if names else ""


def _skipped(decision: Decision, name: str) -> list[str]:
    skipped = {"Filter": decision.filter_skipped, "Score": decision.score_skipped}
    return [point for point, names in skipped.items() if name in names]

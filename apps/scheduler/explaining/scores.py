"""What the score of a plugin follows from, as the plugin tells it."""

from __future__ import annotations

from collections.abc import Sequence

from apps.scheduler.explaining.sight import Sight
from apps.scheduler.framework import guard
from apps.scheduler.framework.explanation import Detail, ScoreExplainer


def score_details(sight: Sight, plugin: str, row: int) -> Sequence[Detail]:
    """The details of a plugin's raw score of a node; empty if the plugin explains no scores."""
    found = sight.framework.plugins.get(plugin)
    if not isinstance(found, ScoreExplainer):
        return ()
    try:
        return list(found.explain_score(sight.pod, sight.spot(row).nodes))
    except Exception as raised:
        guard.failure(plugin, "ExplainScore", raised)
        return ()

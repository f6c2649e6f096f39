"""Two nodes of a score matrix side by side, with a sentence: the chosen node and the runner-up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from apps.engine.results.scores import Score, ScoreMatrix
from apps.scheduler.decision import Decision

#: Maximum number of plugins in a sentence.
_MAX_PLUGINS = 3


@dataclass(frozen=True, slots=True)
class Share:
    """The scores of two nodes by one plugin; `weighted` is normalized times weight."""

    plugin: str
    weight: int
    raw: int
    normalized: int
    weighted: int
    other_raw: int
    other_normalized: int
    other_weighted: int

    ANSWER: ClassVar = (..., "difference")

    @property
    def difference(self) -> int:
        return self.weighted - self.other_weighted


@dataclass(frozen=True, slots=True)
class Comparison:
    """A feasible node compared with another one; `other` is empty if there is no other."""

    node: str
    total: int
    rank: int
    other: str
    other_total: int
    other_rank: int
    #: the greatest difference first
    shares: tuple[Share, ...]
    sentence: str = ""

    ANSWER: ClassVar = ("sentence", ..., "difference", "shares")

    @property
    def difference(self) -> int:
        return self.total - self.other_total


def compare_with_runner_up(decision: Decision, matrix: ScoreMatrix) -> Comparison | None:
    """The selected node compared with the runner-up; None if none was selected or scored."""
    if not matrix.chosen:
        return None
    if len(matrix.nodes) == 1:
        alone = replace(_compare(matrix, 0, 0), other="", other_total=0, other_rank=0)
        return replace(alone, sentence=_describe_only_node(decision))
    pair = _compare(matrix, 0, 1)
    return replace(pair, sentence=_describe_choice(matrix, pair))


def compare_nodes(matrix: ScoreMatrix, node: str, other: str) -> Comparison | None:
    """Two feasible nodes side by side; None if one of them has no scores."""
    place, other_place = matrix.find_place(node), matrix.find_place(other)
    if place is None or other_place is None:
        return None
    pair = _compare(matrix, place, other_place)
    return replace(pair, sentence=_describe_difference(pair))


def format_points(count: int) -> str:
    """ "1 point", "1,200 points"."""
    return f"{count:,} point{'' if count == 1 else 's'}"


def _compare(matrix: ScoreMatrix, place: int, other: int) -> Comparison:
    pairs = zip(matrix.scores_at(place), matrix.scores_at(other), strict=True)
    shares = sorted(
        (_build_share(score, beside) for score, beside in pairs),
        key=lambda share: (-abs(share.difference), -share.weighted, share.plugin),
    )
    return Comparison(
        matrix.nodes[place],
        int(matrix.total[place]),
        int(matrix.ranks[place]),
        matrix.nodes[other],
        int(matrix.total[other]),
        int(matrix.ranks[other]),
        tuple(shares),
    )


def _build_share(score: Score, other: Score) -> Share:
    return Share(
        score.plugin,
        score.weight,
        score.raw,
        score.normalized,
        score.weighted,
        other.raw,
        other.normalized,
        other.weighted,
    )


def _describe_only_node(decision: Decision) -> str:
    if decision.nominated_fast_path:
        return (
            f"{decision.node} is the pod's nominated node and the pod fits there: "
            "no other node was evaluated."
        )
    return f"{decision.node} was the only feasible node of {decision.total_nodes:,}."


def _describe_choice(matrix: ScoreMatrix, pair: Comparison) -> str:
    if pair.difference:
        return (
            f"{pair.node} has {format_points(pair.total)}, {pair.difference:,} more than "
            f"{pair.other}, the next best of {len(matrix.nodes):,} feasible nodes: "
            f"{_describe_shares(pair)}."
        )
    others = pair.other if matrix.tied == 2 else f"{matrix.tied - 1:,} other nodes"
    return f"{pair.node} tied with {others} at {format_points(pair.total)} and was picked."


def _describe_difference(pair: Comparison) -> str:
    if not pair.difference:
        shares = _describe_shares(pair)
        return f"{pair.node} and {pair.other} have {format_points(pair.total)} each" + (
            f": {shares}." if shares else ", from every plugin the same."
        )
    more = "more" if pair.difference > 0 else "fewer"
    return (
        f"{pair.node} has {format_points(pair.total)}, {abs(pair.difference):,} {more} than "
        f"{pair.other} with {pair.other_total:,}: {_describe_shares(pair)}."
    )


def _describe_shares(pair: Comparison) -> str:
    """ "NodeResourcesFit gave 8 more, ImageLocality 3 fewer"."""
    different = [share for share in pair.shares if share.difference]
    parts = [
        f"{share.plugin} {'gave ' if not index else ''}{abs(share.difference):,} "
        f"{'more' if share.difference > 0 else 'fewer'}"
        for index, share in enumerate(different[:_MAX_PLUGINS])
    ]
    rest = len(different) - _MAX_PLUGINS
    others = f"{rest} other plugin{'s' if rest > 1 else ''} the rest"
    return ", ".join([*parts, *([others] if rest > 0 else [])])

"""The scores of a decision told: why here, and one node beside another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apps.scheduler.decision import Decision

#: plugins named in a sentence
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Share:
    """What one plugin gave two nodes: normalised scores times weight, and what they come from."""

    plugin: str
    weight: int
    raw: int
    normalized: int
    points: int
    other_raw: int
    other_normalized: int
    other_points: int

    @property
    def difference(self) -> int:
        return self.points - self.other_points


@dataclass(frozen=True, slots=True)
class Comparison:
    """A feasible node beside another one; `other` is empty where there is no other."""

    node: str
    total: int
    rank: int
    other: str
    other_total: int
    other_rank: int
    #: those that tell the nodes apart first, the greatest difference first
    shares: tuple[Share, ...]
    sentence: str

    @property
    def difference(self) -> int:
        return self.total - self.other_total


def why_here(decision: Decision) -> Comparison | None:
    """The chosen node beside the runner-up; None if no node was chosen, or nothing was scored."""
    if not decision.node or not len(decision.total):
        return None
    runner_up = _runner_up(decision)
    compared = compare(decision, decision.node, runner_up) if runner_up else None
    if compared is None:
        compared = compare(decision, decision.node, decision.node)
        assert compared is not None
        return _with_sentence(compared, _only(decision), alone=True)
    return _with_sentence(compared, _chosen(decision, compared))


def compare(decision: Decision, node: str, other: str) -> Comparison | None:
    """Two feasible nodes side by side; None if one of them was not feasible, or not scored."""
    one, two = _place(decision, node), _place(decision, other)
    if one is None or two is None or not len(decision.total):
        return None
    shares = sorted(
        (
            Share(
                plugin,
                column.weight,
                int(column.raw[one]),
                int(column.normalized[one]),
                int(column.weighted[one]),
                int(column.raw[two]),
                int(column.normalized[two]),
                int(column.weighted[two]),
            )
            for plugin, column in decision.scores.items()
        ),
        key=lambda share: (-abs(share.difference), -share.points, share.plugin),
    )
    totals = int(decision.total[one]), int(decision.total[two])
    ranks = tuple(int((decision.total > total).sum()) + 1 for total in totals)
    found = Comparison(
        node, totals[0], ranks[0], other, totals[1], ranks[1], tuple(shares), sentence=""
    )
    return _with_sentence(found, _beside(found))


def _with_sentence(found: Comparison, sentence: str, *, alone: bool = False) -> Comparison:
    return Comparison(
        found.node,
        found.total,
        found.rank,
        "" if alone else found.other,
        0 if alone else found.other_total,
        0 if alone else found.other_rank,
        found.shares,
        sentence,
    )


def _runner_up(decision: Decision) -> str:
    """The best of the other feasible nodes, the first by name among equals; "" if there is none."""
    names = np.array([decision.nodes[row] for row in decision.feasible])
    order = np.lexsort((names, -decision.total))
    return next((str(names[place]) for place in order if names[place] != decision.node), "")


def _only(decision: Decision) -> str:
    if decision.nominated_fast_path:
        return (
            f"{decision.node} had been promised to the pod (its nominated node) and it fits there: "
            "no other node was looked at."
        )
    return f"{decision.node} was the only feasible node of {decision.total_nodes:,}."


def _chosen(decision: Decision, found: Comparison) -> str:
    if found.difference:
        return (
            f"{found.node} has {points(found.total)}, {found.difference:,} more than "
            f"{found.other}, the next best of {len(decision.feasible):,} feasible nodes: "
            f"{_telling(found)}."
        )
    others = len(decision.ties) - 1
    return (
        f"{found.node} and {others:,} other node{'s' if others > 1 else ''} have the most points, "
        f"{found.total:,} each: {found.node}, number {decision.draw + 1} of them, was taken."
    )


def _beside(found: Comparison) -> str:
    if not found.difference:
        told = _telling(found)
        return f"{found.node} and {found.other} have {points(found.total)} each" + (
            f": {told}." if told else ", from every plugin the same."
        )
    more = "more" if found.difference > 0 else "fewer"
    return (
        f"{found.node} has {points(found.total)}, {abs(found.difference):,} {more} than "
        f"{found.other} with {found.other_total:,}: {_telling(found)}."
    )


def _telling(found: Comparison) -> str:
    """ "NodeResourcesFit gave 8 more, ImageLocality 3 fewer"."""
    told = [share for share in found.shares if share.difference]
    said = [
        f"{share.plugin} {'gave ' if not place else ''}{abs(share.difference):,} "
        f"{'more' if share.difference > 0 else 'fewer'}"
        for place, share in enumerate(told[:_NAMED])
    ]
    more = [f"{len(told) - _NAMED} other plugins the rest"] if len(told) > _NAMED else []
    return ", ".join([*said, *more])


def points(count: int) -> str:
    return f"{count:,} point{'' if count == 1 else 's'}"


def _place(decision: Decision, node: str) -> int | None:
    """The node's place among the feasible ones."""
    if node not in decision.nodes:
        return None
    places = np.flatnonzero(decision.feasible == decision.nodes.index(node))
    return int(places[0]) if len(places) else None

"""The visiting order as a picture: a lane for each zone, nodes from left to right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apps.studies.explanations.visiting import Visit, VisitedNode, VisitingOrder

#: Cells from left to right at most; a cell stands for several nodes of a larger cluster.
MAX_CELLS = 240
#: Lanes at most; further zones share the last one.
MAX_LANES = 12
#: Nodes that are listed below the picture.
LISTED = 200
_OTHER = "other zones"
#: The outcome that a cell of several nodes shows is the first of these that it contains.
_ORDER = (Visit.FEASIBLE, Visit.REJECTED, Visit.NOT_EVALUATED)


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of the width, in percent."""

    start: float
    width: float


@dataclass(frozen=True, slots=True)
class LaneCell:
    bar: Bar
    outcome: str
    title: str


@dataclass(frozen=True, slots=True)
class Lane:
    zone: str
    cells: Sequence[LaneCell]


@dataclass(frozen=True, slots=True)
class VisitingPicture:
    """`searched` are the positions that the search went over: two bars if it passed the end."""

    order: VisitingOrder
    searched: Sequence[Bar]
    #: the position of the first evaluated node
    start: Bar
    lanes: Sequence[Lane]
    #: the nodes in the order in which they were visited, from the start on
    visited: Sequence[VisitedNode]
    per_cell: int

    @property
    def more(self) -> int:
        """How many nodes are not listed."""
        return len(self.order.nodes) - len(self.visited)


def visiting_picture(order: VisitingOrder) -> VisitingPicture:
    """The picture of an order that is known."""
    total = max(1, len(order.nodes))
    per_cell = -(-total // MAX_CELLS)
    by_lane: dict[str, list[VisitedNode]] = {}
    for node in order.nodes:
        known = node.zone in by_lane or len(by_lane) < MAX_LANES - 1
        by_lane.setdefault(node.zone if known else _OTHER, []).append(node)
    lanes = [
        Lane(zone or "no zone", list(_cells(nodes, per_cell, total)))
        for zone, nodes in by_lane.items()
    ]
    visited = [*order.nodes[order.start :], *order.nodes[: order.start]][:LISTED]
    start = _bar(order.start, 1, total)
    return VisitingPicture(order, _searched(order, total), start, lanes, visited, per_cell)


def _searched(order: VisitingOrder, total: int) -> list[Bar]:
    first = min(order.evaluated, total - order.start)
    bars = [_bar(order.start, first, total)]
    if order.evaluated > first:
        bars.append(_bar(0, order.evaluated - first, total))
    return bars


def _cells(nodes: Sequence[VisitedNode], per_cell: int, total: int) -> Iterator[LaneCell]:
    """One cell for the nodes of a lane with neighboring positions."""
    by_cell: dict[int, list[VisitedNode]] = {}
    for node in nodes:
        by_cell.setdefault(node.position // per_cell, []).append(node)
    for place, members in by_cell.items():
        outcome = next(each for each in _ORDER if any(m.outcome is each for m in members))
        title = (
            f"{members[0].position + 1}. {members[0].node}: {outcome}"
            if len(members) == 1
            else f"{len(members)} nodes from {members[0].node} on: {outcome}"
        )
        yield LaneCell(_bar(place * per_cell, per_cell, total), outcome.name.lower(), title)


def _bar(start: int, width: int, total: int) -> Bar:
    return Bar(100 * start / total, 100 * min(width, total - start) / total)

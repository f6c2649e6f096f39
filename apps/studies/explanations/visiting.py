"""The order in which a decision visited the nodes, and where its search stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

from apps.engine.models import SchedulingDecision
from apps.scheduler.cache.node_tree import zone_of
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.decision import Decision
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.schedule_pod import feasible_nodes_needed
from apps.scheduler.scheduler import Scheduler
from apps.studies.explanations.states import GAPS, describe_gap, states


class Visit(StrEnum):
    FEASIBLE = "feasible"
    REJECTED = "rejected"
    NOT_EVALUATED = "not evaluated"


@dataclass(frozen=True, slots=True)
class VisitedNode:
    """A node at its position in the visiting order."""

    #: from 0
    position: int
    node: str
    #: region/zone; empty for a node without either
    zone: str
    outcome: Visit


@dataclass(frozen=True, slots=True)
class VisitingOrder:
    """All nodes in visiting order: a node of each zone in turn."""

    nodes: Sequence[VisitedNode] = ()
    #: the position at which the search started
    start: int = 0
    #: how many nodes it evaluated from there on, continued at position 0
    evaluated: int = 0
    #: the number of feasible nodes after which a search stops
    enough: int = 0
    sentence: str = ""
    #: why the order is not known; empty if it is
    gap: str = ""

    ANSWER: ClassVar = ("sentence", "start", "evaluated", "stop", "enough", "nodes", "gap")

    @property
    def zones(self) -> list[str]:
        """The zones in the order of their first node."""
        return list(dict.fromkeys(each.zone for each in self.nodes))

    @property
    def stop(self) -> int:
        """The position after the last evaluated one, at which the next search starts."""
        return (self.start + self.evaluated) % max(1, len(self.nodes))


def read_visiting_order(row: SchedulingDecision, decision: Decision) -> VisitingOrder:
    """The visiting order of a row's decision, from the state that it saw."""
    if decision.node_statuses is None:
        return VisitingOrder(gap="The attempt ended before the filters: no node was visited.")
    try:
        with states.before(row) as state:
            state.scheduler.snapshot.update(state.scheduler.cache)
            return _read_order(row, decision, state.scheduler)
    except GAPS as failure:
        return VisitingOrder(gap=describe_gap(failure))


def _read_order(row: SchedulingDecision, decision: Decision, scheduler: Scheduler) -> VisitingOrder:
    snapshot = scheduler.snapshot
    nodes = [
        VisitedNode(position, snapshot.names[line], _zone(snapshot, line), _visit(decision, line))
        for position, line in enumerate(snapshot.order.tolist())
    ]
    framework = scheduler.profiles.get(row.scheduler_name)
    if framework is None:
        return VisitingOrder(gap=f"The configuration has no profile {row.scheduler_name}.")
    enough = feasible_nodes_needed(scheduler.context, framework, len(nodes))
    order = VisitingOrder(nodes, decision.start % len(nodes), decision.evaluated, enough)
    return replace(order, sentence=_describe(decision, order))


def _zone(snapshot: Snapshot, line: int) -> str:
    node = snapshot.info(line).node
    region, _, zone = zone_of(node).partition(":\x00:") if node is not None else ("", "", "")
    return "/".join(filter(None, (region, zone)))


def _visit(decision: Decision, line: int) -> Visit:
    assert decision.node_statuses is not None
    number = int(decision.node_statuses.ids[line])
    if number == NodeStatuses.NOT_EVALUATED:
        return Visit.NOT_EVALUATED
    return Visit.FEASIBLE if number == NodeStatuses.FEASIBLE else Visit.REJECTED


def _describe(decision: Decision, order: VisitingOrder) -> str:
    total = len(order.nodes)
    if decision.is_batched:
        return "Only the next node of a batch was evaluated: the order did not matter."
    if decision.nominated_fast_path:
        return "Only the nominated node was evaluated: the order did not matter."
    if decision.pre_filter_nodes is not None:
        count = len(decision.pre_filter_nodes)
        return f"PreFilter left {count:,} of {total:,} nodes: only these were evaluated."
    first = order.nodes[order.start]
    began = f"The search started at {first.node}, position {order.start + 1:,} of {total:,}"
    if order.evaluated >= total:
        return f"{began}, and evaluated all nodes."
    last = order.nodes[(order.stop - 1) % total]
    return (
        f"{began}, and stopped after {last.node}: of {order.evaluated:,} evaluated nodes "
        f"{order.enough:,} were feasible, which is enough. The next search starts at "
        f"{order.nodes[order.stop].node}."
    )

"""The inputs of the scores of one node in a decision."""

from __future__ import annotations

from dataclasses import dataclass

from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster
from apps.dashboard.decision_page.inputs import NodeBlocks, node_blocks
from apps.dashboard.decision_page.visiting import VisitingPicture, visiting_picture
from apps.engine import queries
from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.engine.results.scores import score_matrix
from apps.studies.explanations.scores import explain_scores
from apps.studies.explanations.visiting import read_visiting_order


@dataclass(frozen=True, slots=True)
class InputsPage:
    row: SchedulingDecision
    #: None if the decision has no scores, or none of the requested node
    shown: NodeBlocks | None
    #: the node after it by rank, to compare with; "" without one
    next_node: str = ""
    #: why the requested node has no scores; "" if it has
    problem: str = ""


@dataclass(frozen=True, slots=True)
class OrderPage:
    row: SchedulingDecision
    picture: VisitingPicture | None
    #: why there is no picture
    gap: str = ""


def inputs_page(cluster: Cluster, number: int, node: str = "") -> InputsPage:
    """The inputs of a node's scores, by default of the node with the best one."""
    row = queries.decision_numbered(number, cluster)
    decision = read(row).decision
    ranked = score_matrix(decision).nodes
    wanted = node or (ranked[0] if ranked else "")
    if not wanted:
        return InputsPage(row, None, problem="No node was scored in this decision.")
    try:
        (inputs,) = explain_scores(row, decision, [wanted])
    except NotFound:
        return InputsPage(row, None, problem=f"{wanted} was not scored in this decision.")
    after = ranked.index(wanted) + 1
    return InputsPage(row, node_blocks(inputs), ranked[after] if after < len(ranked) else "")


def order_page(cluster: Cluster, number: int) -> OrderPage:
    """The picture of a decision's visiting order."""
    row = queries.decision_numbered(number, cluster)
    order = read_visiting_order(row, read(row).decision)
    return OrderPage(row, None if order.gap else visiting_picture(order), order.gap)

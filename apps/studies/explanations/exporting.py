"""The inputs of scores as a column of exported decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.studies.explanations.scores import explain_scores, list_inputs

Row = dict[str, Any]
Extent = Literal["selected", "feasible"]

#: The column that `add_score_inputs` adds.
SCORE_INPUTS: Final = "score_inputs"
#: Whose scores the column explains: of the selected node, or of all feasible nodes.
EXTENTS: Final[Sequence[Extent]] = ("selected", "feasible")
#: Decisions that are in memory with all their scores at a time.
_CHUNK = 50


def add_score_inputs(batches: Iterator[list[Row]], extent: Extent) -> Iterator[list[Row]]:
    """The rows of decisions, each with the rows of INPUT_COLUMNS in the column SCORE_INPUTS.

    The list is empty for a decision without a selected node, or without feasible nodes. A gap
    that keeps a state from being rebuilt is a row of the list. Rebuilding states takes most of the
    time: some milliseconds for a decision of a batch of the scheduler, seconds on a large cluster.
    """
    for batch in batches:
        for start in range(0, len(batch), _CHUNK):
            yield _explain(batch[start : start + _CHUNK], extent)


def _explain(rows: list[Row], extent: Extent) -> list[Row]:
    """The oldest decision first: a rebuilt state advances to the next one of its batch."""
    decisions = SchedulingDecision.objects.in_bulk([row["id"] for row in rows])
    inputs = {key: _list_inputs(decisions[key], extent) for key in sorted(decisions)}
    return [{**row, SCORE_INPUTS: inputs.get(row["id"], [])} for row in rows]


def _list_inputs(row: SchedulingDecision, extent: Extent) -> list[Row]:
    decision = read(row).decision
    if not decision.scores or (extent == "selected" and not row.node):
        return []
    nodes = [row.node] if extent == "selected" else []
    return list(list_inputs(explain_scores(row, decision, nodes)))

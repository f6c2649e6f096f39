"""Verdicts entered on top of statuses equal those that are entered from nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.reuse.verdict_layer import VerdictLayer
from apps.scheduler.framework.status import unresolvable, unschedulable
from apps.scheduler.framework.verdicts import Passed, add_refusals

ROWS = 6
STATUSES = (None, unschedulable("uneven"), unschedulable("full"), unresolvable("no label"))
columns = st.lists(st.integers(0, 3), min_size=ROWS, max_size=ROWS)
#: what each cycle changes: (row, verdict) pairs; None = nothing is refused
changes = st.none() | st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, 3)), max_size=3)


def passed(refused: list[bool]) -> Passed:
    statuses = NodeStatuses(np.array(refused, dtype=np.int32), [None])
    if any(refused):
        statuses.statuses.append(unschedulable("cordoned"))
    return Passed(statuses, np.flatnonzero(statuses.ids == 0))


@given(
    below=st.lists(st.lists(st.booleans(), min_size=ROWS, max_size=ROWS), min_size=1, max_size=2),
    column=columns,
    cycles=st.lists(st.tuples(st.integers(0, 1), changes), max_size=12),
)
def test_a_changed_verdict_is_entered_as_if_all_were_new(
    below: list[list[bool]], column: list[int], cycles: list[tuple[int, list[tuple[int, int]]]]
) -> None:
    bases = [passed(refused) for refused in below]
    layer = VerdictLayer("Plugin")
    handed_out: list[tuple[Passed, list[int]]] = []
    for which, changed in cycles:
        base, verdicts = bases[which % len(bases)], None
        if changed is not None:
            for row, verdict in changed:
                column[row] = verdict
            verdicts = Verdicts(np.array(column, dtype=np.uint16), STATUSES)
        expected = base.statuses.copy()
        if verdicts is not None:
            add_refusals(expected, verdicts, "Plugin")
        found = layer.on(base, verdicts)
        assert found.statuses.ids.tolist() == expected.ids.tolist()
        assert found.statuses.statuses == expected.statuses
        assert found.feasible.tolist() == np.flatnonzero(expected.ids == 0).tolist()
        handed_out.append((found, expected.ids.tolist()))
    for found, ids in handed_out:
        assert found.statuses.ids.tolist() == ids

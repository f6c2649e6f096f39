"""The verdicts on rows with certain amounts, if the filters read nothing else of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.reuse.changed_rows import ChangedRows
from apps.scheduler.framework.reuse.filter_columns import FilterColumns, RowVerdicts

#: distinct amounts for which verdicts are stored
_MAX_AMOUNTS: Final = 4096


class VerdictsByAmounts:
    def __init__(self) -> None:
        #: the amounts of a row -> the verdicts there
        self.known: dict[int, RowVerdicts] = {}
        #: row -> the verdicts that were last entered there
        self._entered: dict[int, RowVerdicts] = {}

    def clear(self) -> None:
        self.known.clear()
        self._entered.clear()

    def forget_rows(self) -> None:
        """Verdicts were entered without this."""
        self._entered.clear()

    def enter(
        self,
        columns: FilterColumns,
        changed: ChangedRows,
        rows: Sequence[int],
        ask: Callable[[ChangedRows], Int64Array | None],
    ) -> list[int] | None:
        """Enter the verdicts on ``rows`` into the columns; returns the rows that have others now.

        ``ask`` enters those on rows whose amounts are new. None as FilterColumns.replace.
        """
        known, entered = self.known, self._entered
        if len(known) > _MAX_AMOUNTS:
            known.clear()
        ids = columns.below.ids
        unseen, differing = list[int](), list[int]()
        for row, amounts in zip(rows, changed.amounts, strict=True):
            before = entered.get(row)
            if before is None:
                if ids[row] != NodeStatuses.FEASIBLE:
                    continue
                before = entered[row] = columns.at(row)
            verdicts = known.get(amounts)
            if verdicts is None:
                unseen.append(row)
            elif verdicts is not before and verdicts != before:
                columns.set(row, verdicts)
                entered[row] = verdicts
                differing.append(row)
        if unseen:
            part = changed.only(unseen)
            others = ask(part)
            if others is None:
                return None
            differing += others.tolist()
            for row, amounts in zip(unseen, part.amounts, strict=True):
                known[amounts] = entered[row] = columns.at(row)
        return differing

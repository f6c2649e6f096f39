"""Why nodes were refused: one status per row, and the message built from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

import msgspec
import numpy as np

from apps.scheduler.framework.node_columns import BoolArray, Int32Array, Int64Array
from apps.scheduler.framework.status import Code, Status

_NO_IDS: Int32Array = np.empty(0, dtype=np.int32)
#: With more statuses than this, one pass over the rows is faster than one for each.
_FEW_STATUSES = 5
NO_NODES_AVAILABLE = "no nodes available to schedule pods"


class NodeStatuses(msgspec.Struct, eq=False):
    """The outcome of the filters for every row of the snapshot, dictionary encoded.

    ``ids`` indexes ``statuses``; FEASIBLE = passed, NOT_EVALUATED = no filter ran on it (dead,
    excluded by PreFilter, or not needed): its status is ``absent``.
    """

    FEASIBLE: ClassVar[int] = 0
    NOT_EVALUATED: ClassVar[int] = -1

    #: (rows,) int32
    ids: Int32Array
    #: distinct statuses; entry 0 stands for "passed" and is None
    statuses: list[Status | None]
    #: the status of rows that were not evaluated
    absent: Status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)

    @classmethod
    def empty(cls, rows: int) -> NodeStatuses:
        return cls(np.full(rows, cls.NOT_EVALUATED, dtype=np.int32) if rows else _NO_IDS, [None])

    @classmethod
    def untouched(cls, alive: BoolArray) -> NodeStatuses:
        """Before the first filter: every row that is alive passes."""
        return cls(np.where(alive, cls.FEASIBLE, cls.NOT_EVALUATED), [None])

    def copy(self) -> NodeStatuses:
        return NodeStatuses(self.ids.copy(), list(self.statuses), self.absent)

    def intern(self, status: Status) -> int:
        """The id of ``status`` in ``ids``."""
        for number, known in enumerate(self.statuses):
            if known == status:
                return number
        self.statuses.append(status)
        return len(self.statuses) - 1

    def set(self, row: int, status: Status) -> None:
        self._own_ids()
        self.ids[row] = self.intern(status)

    def first(self, rows: int) -> NodeStatuses:
        """The statuses of the first ``rows`` rows."""
        return NodeStatuses(self.ids[:rows], self.statuses, self.absent)

    def overrule(self, rows: Int64Array, others: NodeStatuses) -> None:
        """Replace by the refusals of ``others``, whose i-th row is ``rows[i]`` here."""
        refused = others.ids > 0
        if not refused.any():
            return
        numbers = np.zeros(len(others.statuses), dtype=self.ids.dtype)
        for number in np.unique(others.ids[refused]).tolist():
            status = others.statuses[number]
            assert status is not None
            numbers[number] = self.intern(status)
        self.ids[rows[refused]] = numbers[others.ids[refused]]

    def set_all(self, refusals: Mapping[int, Status]) -> None:
        """``set`` for many rows, each possibly with a reason of its own."""
        self._own_ids()
        numbers: dict[Status, int] = {}
        for row, status in refusals.items():
            if status not in numbers:
                numbers[status] = len(self.statuses)
                self.statuses.append(status)
            self.ids[row] = numbers[status]

    def _own_ids(self) -> None:
        """Read-only ids are shared: they are copied before the first change."""
        if not self.ids.flags.writeable:
            self.ids = self.ids.copy()

    def at(self, row: int) -> Status | None:
        """The row's status, None if it passed."""
        number = int(self.ids[row])
        return self.absent if number == self.NOT_EVALUATED else self.statuses[number]

    @property
    def rejected(self) -> int:
        """Number of rows that were evaluated and refused."""
        return int(np.count_nonzero(self.ids > 0)) if len(self.statuses) > 1 else 0

    def used(self) -> Iterator[tuple[Status, int]]:
        """(status, number of rows) of every status that some row has."""
        if len(self.statuses) <= _FEW_STATUSES:
            numbers = range(len(self.statuses))
            counts = [int(np.count_nonzero(self.ids == number)) for number in numbers]
        else:
            # One more than each id, as NOT_EVALUATED is -1: faster than to leave rows out.
            counts = np.bincount(self.ids + 1, minlength=len(self.statuses) + 1).tolist()[1:]
        for status, rows in zip(self.statuses, counts, strict=True):
            if status is not None and rows:
                yield status, rows

    def with_code(self, code: Code) -> BoolArray:
        """(rows,) bool: rows whose status, or the one for absent rows, has this code."""
        codes = [
            *(Code.SUCCESS if status is None else status.code for status in self.statuses),
            self.absent.code,
        ]
        table = np.array([each is code for each in codes], dtype=np.bool_)
        return table[self.ids]


class Diagnosis(msgspec.Struct, eq=False):
    """The result of the filter phase, for PostFilter, the queue and messages."""

    node_statuses: NodeStatuses
    #: names of plugins that refused some node, or all in PreFilter
    unschedulable_plugins: set[str] = set()
    #: names of plugins that answered Pending
    pending_plugins: set[str] = set()
    #: PreFilter's reason when it refused the pod for all nodes
    pre_filter_message: str = ""
    #: what PostFilter added
    post_filter_message: str = ""

    def add_plugin(self, status: Status) -> None:
        """Note which plugin refused."""
        if not status.plugin:
            return
        if status.code is Code.PENDING:
            self.pending_plugins.add(status.plugin)
        elif status.is_rejected:
            self.unschedulable_plugins.add(status.plugin)

    def reasons(self, total_nodes: int) -> Counter[str]:
        """Reason -> number of nodes; rows that were not evaluated count with ``absent``."""
        histogram: Counter[str] = Counter()
        answered = 0
        for status, count in self.node_statuses.used():
            answered += count
            for reason in status.reasons:
                histogram[reason] += count
        feasible = int(np.count_nonzero(self.node_statuses.ids == NodeStatuses.FEASIBLE))
        if absent := total_nodes - answered - feasible:
            for reason in self.node_statuses.absent.reasons:
                histogram[reason] += absent
        return histogram


def fit_error_message(diagnosis: Diagnosis, total_nodes: int) -> str:
    """Upstream's message: ``0/5 nodes are available: 3 Insufficient cpu, 2 node(s) had …``.

    If PreFilter refused the pod, its reason replaces the counts; PostFilter's message is added at
    the end. Reasons are sorted as text, their numbers included.
    """
    said = [diagnosis.pre_filter_message] if diagnosis.pre_filter_message else []
    if not said:
        said = count_reasons(diagnosis.reasons(total_nodes))
    return sentence(total_nodes, said, diagnosis.post_filter_message)


def count_reasons(reasons: Mapping[str, int]) -> list[str]:
    """``["2 Insufficient memory", "3 Insufficient cpu"]``."""
    return sorted(f"{count} {reason}" for reason, count in reasons.items())


def sentence(total_nodes: int, said: Iterable[str], post_filter_message: str = "") -> str:
    """The message from its parts."""
    text = f"0/{total_nodes} nodes are available"
    body = ", ".join(said)
    if body:
        text += f": {body}."
    else:
        text += ":"
    return f"{text} {post_filter_message}" if post_filter_message else text

"""Commits batches: in parts while the next one is scheduled, and so that a decision that needs the
general way does not take others along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from typing import Final

from apps.cluster.models import Cluster
from apps.engine.ledger.records import DecisionRecord
from apps.engine.loop import scheduling
from apps.engine.loop.informer import Informer
from apps.engine.loop.placing import is_plain
from apps.engine.loop.recorder import Recorder
from apps.engine.queue.history import Deferred
from apps.scheduler.framework.intents import Intent
from apps.scheduler.queue.records import QueueChanges
from apps.scheduler.scheduler import Scheduler

#: Fewer bindings than this are not worth a transaction of their own.
MIN_BINDINGS: Final = 10


class BatchCommits:
    """Commits the batches of one cluster, each in as few transactions as it needs."""

    def __init__(
        self, cluster: Cluster, scheduler: Scheduler, informer: Informer, recorder: Recorder
    ) -> None:
        self._cluster = cluster
        self._scheduler = scheduler
        self._informer = informer
        self._recorder = recorder

    def commit_parts(
        self, parts: Iterator[list[DecisionRecord]]
    ) -> tuple[list[DecisionRecord], bool]:
        """Commit each part while the next one is scheduled; returns the last one, not committed.

        Also whether there were others. All of them see what they would see as one batch.
        """
        last, is_divided = next(parts), False
        with ExitStack() as committing:
            while len(last) >= scheduling.PART_DECISIONS:
                is_divided = True
                self._commit_part(last, committing)
                last = next(parts, [])
            # nothing is scheduled before the next look
            self._informer.apply_placements()
        return last, is_divided

    def _commit_part(self, part: Sequence[DecisionRecord], committing: ExitStack) -> None:
        """Start to commit a part, which `committing` ends.

        The part before is committed at last, after the rows of this one have been encoded.
        """
        *mixed, last = split(part)
        rows = None if mixed else self._recorder.encode(last)
        committing.close()
        changes = self._record_each(mixed, part, self._scheduler.queue.take_changes())
        committing.callback(self._recorder.begin(last, changes, rows))

    def record(self, batch: Sequence[DecisionRecord], activations: Sequence[int] = ()) -> bool:
        """Record a batch and what else has happened in the queue; False if there was nothing.

        It takes one transaction, or a few if only some pods need the general way. Raises LeaseLost
        if another process holds the lease.
        """
        changes = self._scheduler.queue.take_changes()
        intents = self._scheduler.take_intents()
        if not (batch or intents or activations or self._recorder.concerns(changes)):
            return False
        self._record(batch, changes, intents, activations)
        return True

    def _record(
        self,
        batch: Sequence[DecisionRecord],
        changes: QueueChanges,
        intents: Sequence[Intent],
        activations: Sequence[int],
    ) -> None:
        *parts, last = [batch] if self._cluster.quotas else split(batch)
        rest = self._record_each(parts, batch, changes)
        self._recorder.record(last, rest, intents, activations)

    def _record_each(
        self,
        parts: Sequence[Sequence[DecisionRecord]],
        batch: Sequence[DecisionRecord],
        changes: QueueChanges,
    ) -> QueueChanges:
        """Record all parts of a batch but its last one; returns the changes of the queue for it."""
        later = {record.decision.pod_uid for record in batch}
        for part in parts:
            later -= {record.decision.pod_uid for record in part}
            changes, others = changes.divide(later)
            self._recorder.record(part, others, deferred=Deferred(later))
        return changes


def split(batch: Sequence[DecisionRecord]) -> list[Sequence[DecisionRecord]]:
    """The batch in parts to be recorded one after the other, at least one.

    The order stays: a later decision has seen what the earlier ones did. A part has nothing but
    bindings, or fewer than MIN_BINDINGS of them in a row. A batch with two attempts of one pod
    stays in one part: the queue knows only its state after the last one.
    """
    if len({record.decision.pod_uid for record in batch}) < len(batch):
        return [batch]
    parts: list[list[DecisionRecord]] = []
    mixed = False
    for plain, group in groupby(batch, is_plain):
        records = list(group)
        alone = plain and len(records) >= MIN_BINDINGS
        if alone or not parts or not mixed:
            parts.append(records)
        else:
            parts[-1] += records
        mixed = not alone
    return list(parts) or [batch]

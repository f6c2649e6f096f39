"""Splits a batch so that a decision that needs the general way does not take others along."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from apps.engine.ledger.records import DecisionRecord
from apps.engine.loop.placing import is_plain

#: Fewer bindings than this are not worth a transaction of their own.
MIN_BINDINGS: Final = 10


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

"""A decision that is written to the ledger and read again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import pytest

from apps.engine.ledger import codec, columns
from apps.engine.ledger.reading import read
from apps.engine.ledger.records import DecisionRecord, Draws, Expected, SeenState
from apps.engine.ledger.rows import LedgerWriter
from apps.engine.models import NodeTable, SchedulingDecision
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.plugin_scores import ScoreColumn
from apps.scheduler.framework.reuse.live_scores import LiveScores
from tests.engine.ledger.examples import decisions, facts
from tests.engine.ledger.test_first_format import RECORDED

EXAMPLES = decisions()
READ = {each["case"]: each["decision"] for each in RECORDED}
SEEN = SeenState(40, (Expected("uid-1", "node-b", 41), Expected("uid-2", "node-c", 57)), ("uid-3",))


def _record(decision: Decision, **values: Any) -> DecisionRecord:
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    return DecisionRecord(decision=decision, at=at, cluster_version=57, sequence=2, **values)


def _write_and_read(record: DecisionRecord) -> DecisionRecord:
    LedgerWriter(7, profile_revision=3).insert([record])
    return read(SchedulingDecision.objects.get())


@pytest.mark.django_db
@pytest.mark.parametrize("case", EXAMPLES)
def test_a_decision_comes_back_without_the_rows_that_held_no_node(case: str) -> None:
    again = _write_and_read(_record(EXAMPLES[case]))
    assert facts(again.decision) == READ[case]


@pytest.mark.django_db
def test_what_a_decision_saw_comes_back() -> None:
    record = _record(
        EXAMPLES["scheduled among equals"],
        request_id="request-9",
        seen=SEEN,
        draws=Draws("random", 2**40),
        took_node=True,
    )
    again = _write_and_read(record)
    for name in ("at", "cluster_version", "sequence", "request_id", "seen", "draws", "took_node"):
        assert getattr(again, name) == getattr(record, name)
    assert not again.undone


@pytest.mark.django_db
def test_a_pod_that_lost_its_node_again_had_it_for_others() -> None:
    decision = decisions()["extenders"]
    assert decision.result is Result.ERROR
    again = _write_and_read(_record(decision, took_node=True))
    assert again.undone and again.decision.node == "node-d"


def test_scores_of_many_nodes_come_back_from_half_as_many_bytes() -> None:
    numbers = np.random.default_rng(1)
    fit = numbers.integers(60, 64, 5000)
    live = LiveScores(np.arange(5000), [fit, fit * 3 // 2], fit)
    encoder, sizes = codec.BatchEncoder(), []
    for row in range(5):
        live.change_each([(row, (90, 3), -1)])
        snapshot = live.snapshot()
        plugins = {f"p{place}": ScoreColumn(None, None, 1, snapshot, place) for place in range(2)}
        decision = msgspec.structs.replace(EXAMPLES["scheduled among equals"], scores=plugins)
        blob = encoder.encode(_record(decision), None)
        sizes.append(len(blob))
        scores = codec.decode(blob).raw_scores
        assert [each.tolist() for each in scores] == [p.raw.tolist() for p in plugins.values()]
    # the first ones of a batch are packed plugin by plugin
    assert max(sizes[2:]) < 0.6 * sizes[0]


def test_columns_of_a_later_version_are_refused() -> None:
    layout = [codec.VERSION + 1, *([None] * len(codec.StoredDecision.__struct_fields__))]
    with pytest.raises(msgspec.ValidationError):
        codec.decode(columns.compress(msgspec.msgpack.encode(layout)))


@pytest.mark.django_db
def test_a_node_table_that_retention_has_deleted_is_stored_again() -> None:
    writer = LedgerWriter(7, profile_revision=3)
    writer.insert([_record(EXAMPLES["scheduled among equals"])])
    first = SchedulingDecision.objects.get().node_table_id
    NodeTable.objects.all().delete()
    writer.insert([_record(EXAMPLES["scheduled among equals"])])
    newest = SchedulingDecision.objects.order_by("id").last()
    assert newest is not None and newest.node_table_id > first
    assert SchedulingDecision.objects.count() == 2
    assert facts(read(newest).decision) == READ["scheduled among equals"]

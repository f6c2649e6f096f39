"""The ledger's table: partitioned by day, with immutable rows."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import ProgrammingError, connection, transaction

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster
from apps.cluster.partitions import daily
from apps.cluster.partitions.division import divide_by_days
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from tests.engine.driving import create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)

LEDGER = "controlplane_schedulingdecision"


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", nodes=2)


@pytest.fixture
def decision(cluster: Cluster) -> SchedulingDecision:
    create_pods(cluster, pod("p"))
    Engines().run(cluster.pk)
    return SchedulingDecision.objects.get(cluster=cluster)


def run(sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall() if cursor.description else []


def record_as_of(day: date, like: SchedulingDecision, number: int) -> int:
    """Write a row as if recorded on another day; returns its id."""
    row_id = daily.first_id(day) + number
    names = [f.column for f in SchedulingDecision._meta.concrete_fields if f.column != "id"]
    columns = ", ".join(f'"{name}"' for name in names)
    run(
        f"INSERT INTO {LEDGER} (id, {columns}) SELECT %s, {columns} FROM {LEDGER} WHERE id = %s",
        row_id,
        like.pk,
    )
    return row_id


def partition_of(row_id: int) -> str:
    ((name,),) = run(f"SELECT tableoid::regclass::text FROM {LEDGER} WHERE id = %s", row_id)
    return str(name)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE {table} SET node = 'elsewhere'",
        "DELETE FROM {table}",
        "TRUNCATE {table}",
        "TRUNCATE {partition}",
        "UPDATE {partition} SET node = 'elsewhere'",
        "DELETE FROM {partition}",
    ],
)
def test_a_record_cannot_be_changed(decision: SchedulingDecision, change: str) -> None:
    with pytest.raises(ProgrammingError, match="refused: rows of .* stay as they were recorded"):
        run(change.format(table=LEDGER, partition=partition_of(decision.pk)))
    assert SchedulingDecision.objects.get().node == decision.node


def test_the_orm_cannot_change_records_either(decision: SchedulingDecision) -> None:
    decision.node = "elsewhere"
    with pytest.raises(ProgrammingError, match="UPDATE refused"):
        decision.save()
    with pytest.raises(ProgrammingError, match="DELETE refused"):
        decision.delete()


def test_retention_can_only_delete(decision: SchedulingDecision) -> None:
    with pytest.raises(ProgrammingError), daily.as_retention() as cursor:
        cursor.execute(f"UPDATE {LEDGER} SET node = 'elsewhere'")
    with pytest.raises(ProgrammingError, match="permission denied"), daily.as_retention():
        Cluster.objects.all().delete()
    with daily.as_retention() as cursor:
        cursor.execute(f"DELETE FROM {LEDGER} WHERE id = %s", [decision.pk])
    assert not SchedulingDecision.objects.exists()


def test_the_right_to_delete_ends_with_its_transaction(decision: SchedulingDecision) -> None:
    with daily.as_retention():
        pass
    with pytest.raises(ProgrammingError, match="DELETE refused"):
        run(f"DELETE FROM {LEDGER}")


def test_an_id_contains_the_day_and_determines_the_partition(decision: SchedulingDecision) -> None:
    today = daily.today()
    assert daily.recording_day(decision.pk) == today
    assert partition_of(decision.pk) == daily.partition_name(LEDGER, today)
    plan = "\n".join(line for (line,) in run(f"EXPLAIN SELECT * FROM {LEDGER} WHERE id = 7"))
    assert "Append" not in plan
    assert decision.pk < 2**53


@pytest.mark.parametrize("table", [*daily.TABLES, daily.AUDIT])
def test_ids_increase_when_the_clock_of_the_database_is_set_back(table: str) -> None:
    ahead = daily.today() + timedelta(days=1)
    try:
        # as it is left by a row that was recorded while the clock was a day ahead
        run(f"SELECT setval('{table}_day', {ahead:%y%m%d})")
        before, after = next_id(table), next_id(table)
        assert before < after
        assert daily.recording_day(before) == daily.recording_day(after) == ahead
        # ids with a day of a wrong year would be retained for that year
        run(f"SELECT setval('{table}_day', {daily.today() + timedelta(days=300):%y%m%d})")
        assert daily.recording_day(next_id(table)) == daily.today()
    finally:
        run(f"SELECT setval('{table}_day', {daily.today():%y%m%d})")


def next_id(table: str) -> int:
    """The id that the next row of the table would have."""
    ((default,),) = run(
        "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef "
        "WHERE adrelid = %s::regclass AND pg_get_expr(adbin, adrelid) LIKE '%%nextval%%'",
        table,
    )
    ((number,),) = run(f"SELECT {default}")
    return int(number)


def test_partitions_are_created_in_advance(decision: SchedulingDecision) -> None:
    tomorrow = daily.today() + timedelta(days=1)
    row_id = record_as_of(tomorrow, decision, 1)
    assert partition_of(row_id) == daily.partition_name(LEDGER, tomorrow)
    assert daily.prepare_days(LEDGER) == []


def test_rows_of_a_day_without_a_partition_are_kept_and_moved(decision: SchedulingDecision) -> None:
    day = daily.today() + timedelta(days=40)
    row_id = record_as_of(day, decision, 1)
    assert partition_of(row_id) == daily.partition_name(LEDGER, daily.REST)
    name = daily.partition_name(LEDGER, day)
    assert daily.prepare_days(LEDGER) == [name]
    assert partition_of(row_id) == name
    with pytest.raises(ProgrammingError, match="refused"):
        run(f"TRUNCATE {name}")
    assert read(SchedulingDecision.objects.get(pk=row_id)).decision.node == decision.node
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {name}")


def test_past_days_are_dropped_when_they_are_empty(decision: SchedulingDecision) -> None:
    today = daily.today()
    with transaction.atomic(), connection.cursor() as cursor:
        for days in (30, 20):
            daily.add_day(cursor, LEDGER, today - timedelta(days=days))
    kept = record_as_of(today - timedelta(days=20), decision, 1)
    assert daily.drop_days(LEDGER) == [daily.partition_name(LEDGER, today - timedelta(days=30))]
    with daily.as_retention() as cursor:
        cursor.execute(f"DELETE FROM {LEDGER} WHERE id = %s", [kept])
    assert len(daily.drop_days(LEDGER)) == 1
    assert daily.list_days(LEDGER)[0] == today


def test_partitioning_a_table_keeps_the_ids_of_its_rows() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE moves (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, "
            "pod_uid uuid NOT NULL, reason varchar(20) NOT NULL)"
        )
        cursor.execute("CREATE INDEX moves_of_pod ON moves (pod_uid, id DESC)")
        uids = [uuid4() for _ in range(3)]
        cursor.execute("INSERT INTO moves (pod_uid, reason) SELECT unnest(%s), 'old'", [uids])
    try:
        with transaction.atomic(), connection.schema_editor() as editor:
            divide_by_days("moves")(None, editor)
        run("INSERT INTO moves (pod_uid, reason) VALUES (%s, 'new')", uids[0])
        found = run("SELECT id, reason FROM moves ORDER BY id")
        assert found[:3] == [(1, "old"), (2, "old"), (3, "old")]
        assert daily.recording_day(1) is None
        assert daily.recording_day(found[3][0]) == daily.today()
        indexes = run("SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'moves_of_pod%%'")
        assert indexes == [(2,)], "the table's own, and that of the rows from before"
        with pytest.raises(ProgrammingError, match="TRUNCATE refused"):
            run("TRUNCATE moves")
    finally:
        run("DROP TABLE moves")

"""``python -m bench.ledger``: bytes per decision in the ledger.

Upstream's workloads at several sizes; the initial pods are scaled with the nodes. Every attempt of
the timed pods is recorded in a temporary PostgreSQL. *columns* is the blob of verdicts and scores;
*row* is the table without indexes, including page headers and free space; *indexes* is their growth
per row.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from apps.scheduler.decision import Decision
from bench import workloads
from bench.core import Bench
from bench.workloads import BenchmarkWorkload

NAMES = ("SchedulingBasic", "TopologySpreading", "PreemptionBasic")
SIZES = (100, 1000, 5000)
BATCH = 200


class Recording(Bench):
    """A workload whose decisions are recorded."""

    def __init__(self, workload: BenchmarkWorkload) -> None:
        super().__init__(workload)
        self.decisions: list[Decision] = []

    def _commit(self, decision: Decision) -> None:
        self.decisions.append(decision)
        super()._commit(decision)


@contextmanager
def database() -> Iterator[None]:
    """Django on an empty PostgreSQL that stops with this block."""
    folder = Path(tempfile.mkdtemp(prefix="schedweb-bench-"))
    folder.chmod(0o755)
    os.environ |= {"SCHEDWEB_DATA": str(folder), "SCHEDWEB_CONNECTION_POOL": "0"}
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schedweb.settings")
    from schedweb.embedded.postgres import Postgres

    server = Postgres(folder, log=folder / "postgres.log", throwaway=True)
    server.start()
    os.environ["SCHEDWEB_DATABASE_URL"] = server.url
    try:
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        yield
    finally:
        server.stop()
        shutil.rmtree(folder)


def scale(workload: BenchmarkWorkload, nodes: int) -> BenchmarkWorkload:
    """The workload with this many nodes, and the same number of initial pods per node."""
    share = nodes / workload.spec["nodes"]
    init = [[max(1, round(count * share)), *rest] for count, *rest in workload.spec["init"]]
    return replace(workload, spec={**workload.spec, "nodes": nodes, "init": init})


def decide(workload: BenchmarkWorkload, pods: int) -> list[Decision]:
    """Every attempt of the timed pods."""
    recording = Recording(workload)
    recording.run(workload.initial_pods())
    recording.decisions.clear()
    recording.run(workload.timed_pods(pods))
    return recording.decisions


def record(cluster_id: int, decisions: Sequence[Decision]) -> None:
    """Write the decisions as the recorder does, in batches."""
    from django.db import transaction

    from apps.engine.ledger.records import DecisionRecord
    from apps.engine.ledger.rows import LedgerWriter

    writer = LedgerWriter(cluster_id, profile_revision=1)
    for start in range(0, len(decisions), BATCH):
        records = []
        for sequence, decision in enumerate(decisions[start : start + BATCH]):
            decision.pod_uid = str(uuid.uuid5(uuid.NAMESPACE_URL, decision.pod_uid))
            record = DecisionRecord(
                decision=decision,
                at=datetime.now(UTC),
                cluster_version=start,
                sequence=sequence,
                request_id=uuid.uuid4().hex,
            )
            records.append(record)
        with transaction.atomic():
            writer.insert(records)


def disk() -> tuple[int, int]:
    """Bytes of the ledger's tables and of their indexes."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(pg_table_size(relid)), sum(pg_indexes_size(relid)) "
            "FROM pg_partition_tree('controlplane_schedulingdecision') WHERE isleaf"
        )
        table, indexes = cursor.fetchone()
    return int(table), int(indexes)


def sizes(cluster_id: int, empty: tuple[int, int]) -> tuple[float, float, float]:
    """Bytes of a decision: its columns, its row, its share of the indexes."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT avg(octet_length(columns))::float8, count(*) "
            "FROM controlplane_schedulingdecision WHERE cluster_id = %s",
            [cluster_id],
        )
        columns, count = cursor.fetchone()
    table, indexes = disk()
    return columns, (table - empty[0]) / count, (indexes - empty[1]) / count


def empty_table() -> None:
    """Empty the table for the next measurement."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("TRUNCATE controlplane_schedulingdecision")
        cursor.execute("RESET session_replication_role")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help=f"workloads ({', '.join(NAMES)})")
    parser.add_argument("--nodes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--pods", type=int, default=1000, help="timed pods at most (1000)")
    options = parser.parse_args()
    known = {workload.name: workload for workload in workloads.load()}
    with database():
        print(f"{'workload':<22}{'nodes':>7}{'rows':>7}{'columns':>9}{'row':>7}{'indexes':>9}")
        for name in options.names:
            for nodes in options.nodes:
                decisions = decide(scale(known[name], nodes), options.pods)
                empty_table()
                before = disk()
                record(nodes, decisions)
                columns, row, indexes = sizes(nodes, before)
                print(
                    f"{name:<22}{nodes:>7}{len(decisions):>7}"
                    f"{columns:>9.0f}{row:>7.0f}{indexes:>9.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()

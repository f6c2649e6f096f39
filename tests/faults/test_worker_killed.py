"""A worker is killed during a run: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import csv
import io
import os
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.openb_trace import write_trace
from tests.stack.running_site import RunningSite, wait_until

pytestmark = pytest.mark.stack
PODS = 1500

_OVER_CAPACITY = """
    SELECT n.name, sum((p.requests ->> resource)::bigint), (n.allocatable ->> resource)::bigint
    FROM cluster_node n
    JOIN cluster_pod p ON p.cluster_id = n.cluster_id AND p.node_name = n.name,
    unnest(ARRAY['cpu', 'memory', 'alibabacloud.com/gpu-milli']) AS resource
    GROUP BY n.name, n.allocatable, resource
    HAVING sum((p.requests ->> resource)::bigint) > (n.allocatable ->> resource)::bigint
"""
#: For each pod, how often it was bound.
_BINDINGS = """
    SELECT c.name, count(*) FROM cluster_change c
    JOIN cluster_change before
        ON before.cluster_id = c.cluster_id AND before.version = c.previous_version
    WHERE c.kind = 'Pod' AND c.object #>> '{spec,nodeName}' IS NOT NULL
        AND before.object #>> '{spec,nodeName}' IS NULL
    GROUP BY c.name
"""


@pytest.fixture
def site() -> Iterator[RunningSite]:
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        site = RunningSite(Path(folder), SCHEDWEB_ADMIN_PASSWORD="correct horse battery")
        site.start()
        yield site
        site.end(signal.SIGTERM)
        site.close()


def query(site: RunningSite, statement: str) -> list[tuple[Any, ...]]:
    url = (site.data / "run" / "database").read_text().strip()
    with psycopg.connect(url) as database:
        return database.execute(statement).fetchall()


def count_bound(site: RunningSite) -> int:
    return query(
        site,
        "SELECT count(*) FROM cluster_pod p JOIN cluster_cluster c ON c.id = p.cluster_id "
        "WHERE c.name = 'trace' AND p.node_name <> ''",
    )[0][0]


def test_kill_9_of_the_worker_loses_nothing_and_binds_nothing_twice(
    site: RunningSite, tmp_path: Path
) -> None:
    nodes, pods = write_trace(tmp_path, nodes=300, pods=PODS)
    site.manage("delete_cluster", "demo", "--with-history")
    site.manage("create_cluster", "trace", "--paused", "--tie-break", "first-name")
    site.manage("load_openb", "trace", "--nodes", str(nodes), "--pods", str(pods))
    site.manage("resume", "trace")
    wait_until(lambda: count_bound(site) >= 100)
    failed_before = dict(
        query(site, "SELECT name, attempts FROM controlplane_queueentry WHERE attempts > 0")
    )
    os.kill(site.process("schedweb.worker"), signal.SIGKILL)
    at_the_kill = count_bound(site)
    assert at_the_kill < PODS * 0.9, "the run had ended before the worker was killed"
    site.manage("wait", "trace", "--timeout", "120")

    printed = list(csv.DictReader(io.StringIO(site.manage("placements", "trace"))))
    assert len(printed) == PODS
    without_node = [row for row in printed if not row["node"]]
    assert all(row["message"].startswith("0/300 nodes are available") for row in without_node)
    bindings: Counter[str] = Counter(dict(query(site, _BINDINGS)))
    assert set(bindings.values()) == {1}
    assert len(bindings) == PODS - len(without_node) > at_the_kill
    assert query(site, _OVER_CAPACITY) == []
    entries = dict(query(site, "SELECT name, attempts FROM controlplane_queueentry"))
    assert set(entries) == {row["pod"] for row in without_node}
    assert failed_before, "no pod had failed before the kill: the queue was not tested"
    assert {name: entries[name] for name in failed_before} == failed_before
    scheduled = query(
        site, "SELECT count(*) FROM controlplane_schedulingdecision WHERE result = 'scheduled'"
    )
    assert scheduled == [(len(bindings),)]

"""Decisions as files."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from apps.administration.clusters.lifecycle import create_cluster, delete_cluster
from apps.cluster.models import Cluster
from apps.engine.ledger import export, finding
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.studies.explanations.scores import explain_scores, list_inputs
from tests.engine.driving import create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)

PYARROW = importlib.util.find_spec("pyarrow") is not None


@pytest.fixture
def lab(transactional_db: None) -> Cluster:
    cluster = create_cluster("lab", user="tests", nodes=2)
    create_pods(cluster, *(pod(f"p{n}") for n in range(5)), pod("big", cpu="64"))
    Engines().run(cluster.pk)
    return cluster


def written(cluster: Cluster, name: str, **query: Any) -> bytes:
    found = export.batches(finding.parse(query), cluster_id=cluster.pk)
    return b"".join(export.FORMATS[name].write(export.FIELDS, found))


def test_csv_has_a_line_for_each_decision_the_newest_first(lab: Cluster) -> None:
    rows = list(csv.DictReader(io.StringIO(written(lab, "csv").decode())))
    ids = [int(row["id"]) for row in rows]
    assert len(ids) == 6 and ids == sorted(ids, reverse=True)
    assert list(rows[0]) == list(export.FIELDS)
    (big,) = (row for row in rows if row["name"] == "big")
    assert (big["cluster"], big["result"]) == ("lab", "unschedulable")
    assert json.loads(big["reasons"]) == ["Insufficient cpu"]
    assert big["message"] == "0/2 nodes are available: 2 Insufficient cpu."


def test_json_lines_hold_the_same(lab: Cluster) -> None:
    rows = [json.loads(line) for line in written(lab, "jsonl").splitlines()]
    assert [row["id"] for row in rows] == [
        row.pk for row in SchedulingDecision.objects.order_by("-id")
    ]
    assert rows[0].keys() == set(export.FIELDS)
    assert [row["name"] for row in rows if row["reasons"] == ["Insufficient cpu"]] == ["big"]


def test_nothing_found_is_an_empty_file(lab: Cluster) -> None:
    assert written(lab, "csv", pod="none").decode().strip() == ",".join(export.FIELDS)
    assert written(lab, "jsonl", pod="none") == b""


def test_an_export_reads_batch_after_batch(lab: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.engine.exported_files.BATCH", 2)
    found = export.batches(finding.DecisionFilters(), cluster_id=lab.pk, limit=5)
    sizes = [len(batch) for batch in found]
    assert sizes == [2, 2, 1]
    names = {json.loads(line)["name"] for line in written(lab, "jsonl").splitlines()}
    assert names == {"p0", "p1", "p2", "p3", "p4", "big"}


def test_the_command_writes_a_file_also_of_a_deleted_cluster(lab: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    call_command("export_decisions", "lab", format="jsonl", output=path, result="scheduled")
    assert len(path.read_bytes().splitlines()) == 5
    delete_cluster(lab)
    call_command("export_decisions", cluster_id=lab.pk, output=path, text="insufficient")
    (row,) = csv.DictReader(io.StringIO(path.read_text()))
    assert (row["cluster"], row["name"]) == ("lab", "big")
    with pytest.raises(CommandError, match="cluster 'lab' not found"):
        call_command("export_decisions", "lab")
    with pytest.raises(CommandError, match="result: 'odd' is not one of"):
        call_command("export_decisions", result="odd")


def test_inputs_of_scores_are_a_column_on_request(lab: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"

    def inputs_of(extent: str) -> dict[str, set[tuple[str, str]]]:
        call_command("export_decisions", "lab", format="jsonl", output=path, score_inputs=extent)
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        return {
            row["name"]: {(each["node"], each["step"]) for each in row["score_inputs"]}
            for row in rows
        }

    nodes = {row.name: row.node for row in SchedulingDecision.objects.all()}
    selected, feasible = inputs_of("selected"), inputs_of("feasible")
    assert set(selected) == set(nodes) and selected["big"] == feasible["big"] == set()
    steps = {"input", "normalization", "points"}
    assert selected["p0"] == {(nodes["p0"], step) for step in steps}
    assert len({node for node, _ in feasible["p0"]}) == 2
    recomputed = explain_scores(
        row := SchedulingDecision.objects.get(name="p4"), read(row).decision
    )
    last = json.loads(path.read_text().splitlines()[1])
    assert last["name"] == "p4" and last["score_inputs"] == list(list_inputs(recomputed))


@pytest.mark.skipif(PYARROW, reason="pyarrow is installed")
def test_parquet_says_what_is_missing(lab: Cluster) -> None:
    with pytest.raises(export.FormatNotAvailable, match="pip --python \\S+ install pyarrow"):
        written(lab, "parquet")


@pytest.mark.skipif(not PYARROW, reason="needs the extra: pyarrow")
def test_parquet_holds_the_same(lab: Cluster) -> None:
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(written(lab, "parquet"))).to_pylist()
    lines = [json.loads(line) for line in written(lab, "jsonl").splitlines()]
    assert [(row["id"], row["pod_uid"], row["reasons"]) for row in table] == [
        (row["id"], row["pod_uid"], row["reasons"]) for row in lines
    ]

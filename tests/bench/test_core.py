"""`make bench` on small clusters: every workload does what its name says, and says what it did."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench import core, curves, workloads
from bench.core import Bench
from bench.results import BenchmarkError
from bench.workloads import BenchmarkWorkload

NODES = 30
ALL = {workload.name: workload.scaled(NODES) for workload in workloads.load()}
COUNTS = ("pods", "bound", "churned")


def test_all_workloads_of_upstream_are_there() -> None:
    assert len(ALL) == 21


@pytest.mark.parametrize("name", ALL)
def test_every_timed_pod_is_bound(name: str) -> None:
    figures = core.measure(ALL[name], 8)
    assert figures["pods"] == figures["bound"] == min(8, ALL[name].spec["timed"][0])
    assert figures["pods_per_s"] > 0
    assert 0 < figures["p50_us"] <= figures["p99_us"]
    assert figures["processor_us"] > 0


@pytest.mark.parametrize("name", ["PreemptionChurn", "Unschedulable"])
def test_pods_are_created_while_the_clock_runs(name: str) -> None:
    workload = ALL[name].scaled(60)
    figures = core.measure(workload, 60)
    # one before the first timed pod, one after 32 or 34 of them
    assert figures["bound"] == 60
    assert figures["churned"] == 2


def test_churn_preempts_in_one_workload_and_fits_nowhere_in_the_other() -> None:
    assert churned_and_bound("PreemptionChurn") == {"sched-0/churn-0"}
    assert churned_and_bound("Unschedulable") == set()


def churned_and_bound(name: str) -> set[str]:
    bench = Bench(ALL[name])
    bench.run(ALL[name].initial_pods())
    core.time_pods(bench, list(ALL[name].timed_pods(5)))
    return {uid for uid in bench.bound if "churn" in uid}


def test_volumes_are_bound_and_count_against_the_limits_of_their_nodes() -> None:
    workload = changed("SchedulingCSIPVs", nodes=1, init=[])
    bench = Bench(workload)
    bench.run([workload.pod("csi-volume", f"p{number}", "sched-0") for number in range(45)])
    # cpu has room for 40 pods, the driver for 39 volumes
    assert len(bench.bound) == 39


def test_claims_are_written_and_every_device_is_allocated_once() -> None:
    workload = changed("SchedulingWithResourceClaimTemplate", nodes=2, init=[])
    bench = Bench(workload)
    bench.run([workload.pod("claim-template", f"p{number}", "sched-0") for number in range(25)])
    assert len(bench.bound) == 20
    results = [
        result
        for claim in bench.scheduler.cache.listers.resource_claims
        if claim.status.allocation is not None
        for result in claim.status.allocation.devices.results
    ]
    assert len({(result.pool, result.device) for result in results}) == len(results) == 20


def test_a_workload_that_does_not_bind_its_pods_is_an_error() -> None:
    with pytest.raises(BenchmarkError, match="0 of 5 pods were bound"):
        core.measure(changed("SchedulingBasic", timed=[5, "gated"]), 5)


def changed(name: str, **fields: object) -> BenchmarkWorkload:
    return replace(ALL[name], spec={**ALL[name].spec, **fields})


def test_a_workload_without_timed_pods_is_an_error() -> None:
    with pytest.raises(BenchmarkError, match="0 of 0 pods"):
        core.measure(ALL["SchedulingBasic"], 0)


def test_results_are_medians_with_their_spread_in_a_table_and_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "new" / "core.json"
    options = ["--nodes", str(NODES), "--pods", "5", "--runs", "3", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", ["bench", "SchedulingBasic", "Unschedulable", *options])
    core.main()
    table = capsys.readouterr().out
    content = json.loads(file.read_text())
    assert [entry["workload"] for entry in content["workloads"]] == [
        "SchedulingBasic",
        "Unschedulable",
    ]
    assert content["runs"] == 3
    assert content["machine"]["cores"] >= 1
    assert content["load"].keys() == {"start", "end", "other_cores"}
    for entry in content["workloads"]:
        assert entry["nodes"] == NODES
        assert entry["workload"] in table
        assert entry["pods"] == {"median": 5, "min": 5, "max": 5}
        rate = entry["pods_per_s"]
        assert rate["min"] <= rate["median"] <= rate["max"]
    assert "other work used" in table


def test_the_real_scheduler_is_compared_at_the_original_size_only() -> None:
    figure = {"median": 977.0, "min": 977.0, "max": 977.0}
    figures = dict.fromkeys(("pods", "pods_per_s", "p50_us", "p99_us", "processor_us"), figure)
    entry = {"workload": "SchedulingBasic", "nodes": 5000, "scaled": False, **figures}
    assert "306–338" in core.tables.core([entry], markdown=True)
    assert "306–338" not in core.tables.core([{**entry, "scaled": True}], markdown=True)


def test_an_unknown_workload_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "SchedulingBasics"])
    with pytest.raises(SystemExit):
        core.main()
    assert "no such workload: SchedulingBasics" in capsys.readouterr().err


def test_curves_have_a_point_for_each_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "curves.json"
    sizes = ["--nodes", "20", "40", "--placed", "0", "10", "--signatures", "1", "3"]
    sizes += ["--base-nodes", "20"]
    monkeypatch.setattr(sys, "argv", ["curves", *sizes, "--pods", "4", "--json", str(file)])
    curves.main()
    found = json.loads(file.read_text())["curves"]
    assert [point["size"] for point in found["nodes"]] == [20, 40] * 3
    assert [point["size"] for point in found["placed"]] == [0, 10] * 2
    assert [point["size"] for point in found["signatures"]] == [1, 3] * 2
    assert all(point["bound"]["median"] == 4 for points in found.values() for point in points)

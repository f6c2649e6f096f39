"""The comparison with the real kube-scheduler, as far as it goes without it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from apps.conformance.options import Options
from apps.conformance.scheduling import CaseReplay
from apps.scheduler.config import load
from apps.scheduler.plugins.registry import TABLE
from tools.truth import extender, groups
from tools.truth.clusters import Cluster
from tools.truth.sampled import compare_sampled
from tools.truth.shapes import SHAPES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("module", ["tools.truth", "tools.truth.exchanges", "tools.truth.groups"])
def test_without_the_real_thing_it_says_that_nothing_was_compared(
    tmp_path: Path, module: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module],
        env={**os.environ, "REAL_KUBERNETES": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("NOTHING WAS COMPARED: ")
    assert str(tmp_path) in done.stdout


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_the_same_cluster_for_a_seed_and_is_decided(name: str) -> None:
    shape = SHAPES[name]
    features = frozenset(shape.features.split())
    first, second = (Cluster(features, 6, seed=1) for _ in range(2))
    pods = [first.make_pod() for _ in range(3)]
    assert pods == [second.make_pod() for _ in range(3)]
    assert first.objects == second.objects
    with extender.running() as address:
        config = {**shape.config(address), "featureGates": shape.gates}
        replay = CaseReplay({"objects": first.objects, "pods": pods}, load(config, TABLE))
        for pod in pods:
            found = replay.schedule(pod)
            assert found["pod"] == pod["metadata"]["uid"]
            assert "ignored" not in found
        replay.scheduler.close()


def test_candidates_that_are_found_at_random_are_judged_among_all() -> None:
    """100 of 103 candidates: an answer that leaves one out is wrong, and so is another node."""
    cluster = Cluster(frozenset(("full", "priorities")), 0, seed=1)
    for number in range(103):
        name = f"n{number:03}"
        status = {"allocatable": {"cpu": "1", "pods": "5"}}
        cluster.add("Node", name, spec={}, status=status, metadata={"labels": {}})
        cluster._add_running(name, "1")
    pod = cluster.make_pod()
    pod["spec"]["priority"] = 1000
    pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1"}
    config = SHAPES["preempt-sampled"].config("")
    case = {"id": "sampled", "config": config, "objects": cluster.objects, "pods": [pod]}
    answer = CaseReplay(case, load(config, TABLE)).schedule(pod)
    assert len(answer["postFilter"]["candidates"]) == 100
    assert compare_sampled(case, {"pods": [answer]}, Options()) == []

    preemption = answer["postFilter"]
    least = next(node for node in preemption["candidates"] if node != preemption["nominatedNode"])
    for wrong in (
        {"nominatedNode": least},
        {"candidates": {n: v for n, v in preemption["candidates"].items() if n != least}},
        {"candidates": {**preemption["candidates"], least: {"pods": [], "pdbViolations": 0}}},
    ):
        expect = {"pods": [{**answer, "postFilter": {**preemption, **wrong}}]}
        (difference,) = compare_sampled(case, expect, Options())
        assert "postFilter" in difference


def test_a_sequence_of_groups_is_the_same_for_a_seed_and_is_played() -> None:
    steps = [*groups.Sequence(3).steps()]
    assert steps == [*groups.Sequence(3).steps()]
    states = groups.play_ours(3, groups.GATES, steps)
    assert len(states) == len(steps) > 1
    assert any(name.startswith("group g") for name in states[-1])

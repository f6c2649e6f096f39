"""The comparison with the real kube-scheduler, as far as it goes without it."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from apps.conformance.options import Options
from apps.conformance.scheduling import CaseReplay
from apps.scheduler.config import default_configuration, load
from apps.scheduler.plugins.registry import TABLE
from tests.cluster import recorded
from tests.cluster.recorded import admit, validate
from tools.truth import batches, extender, groups
from tools.truth.clusters import Cluster
from tools.truth.recombined import Recombined, families
from tools.truth.sampled import compare_sampled
from tools.truth.shapes import SHAPES
from tools.truth.templates import Templates

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "module",
    [
        "tools.truth",
        "tools.truth.exchanges",
        "tools.truth.conversions",
        "tools.truth.published",
        "tools.truth.groups",
        "tools.truth.batches",
    ],
)
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


@pytest.mark.parametrize("family", ["profiles", "resize", "volumes", "dra40-s4", "taints"])
def test_cases_like_recorded_ones_are_the_same_for_a_seed_and_are_decided(family: str) -> None:
    first, second = (Recombined(families()[family], "1") for _ in range(2))
    cases = [*islice(first.cases(), 3)]
    assert cases == [*islice(second.cases(), 3)]
    for case in cases:
        config = load(case["config"], TABLE) if "config" in case else default_configuration(TABLE)
        replay = CaseReplay(case, config)
        names = [replay.schedule(pod)["pod"] for pod in case["pods"]]
        assert names == [pod["metadata"]["uid"] for pod in case["pods"]]
        assert len(set(names)) == len(names)
        replay.scheduler.close()


def test_a_sequence_of_batches_has_one_answer_and_some_pods_continue_a_batch() -> None:
    continued = 0
    for seed in range(4):
        steps, states, pods = batches.untied(seed)
        assert len(steps) == len(states)
        assert all(entry[0] for state in states for [entry] in state.values())
        continued += pods
    assert continued > 0


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
    gates = dict.fromkeys(groups.GATES, True)
    states = groups.play_ours(3, {"featureGates": gates}, steps)
    assert len(states) == len(steps) > 1
    assert any(name.startswith("group g") for name in states[-1])


def test_random_objects_are_the_same_for_a_seed_and_most_are_valid() -> None:
    first, second = Templates(1), Templates(1)
    bodies = [body for _ in range(20) for body in (first.pod(), first.workload())]
    assert bodies == [body for _ in range(20) for body in (second.pod(), second.workload())]
    assert len({body["kind"] for body in bodies}) == 6
    faulty = 0
    for body in bodies:
        admitted = admit(body["kind"], body, recorded.Cluster())
        faulty += any(True for _ in validate(body["kind"], admitted))
    assert 0 < faulty < len(bodies) / 2

"""VolumeBinding against a slow reference, on random clusters that change."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from tests.scheduler import volume_reference as reference
from tests.scheduler.plugins.volume_trials import Trial, changing_cluster, pods_come_and_go, seeds


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_it_agrees_with_the_reference_while_the_cluster_changes(seed: int) -> None:
    for trial in changing_cluster(seed):
        for line, _, node in trial.infos():
            expected = reference.binding(trial.pod, node, trial.cluster.listers)
            assert trial.reasons("VolumeBinding", line) == expected.reasons


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_it_agrees_with_the_reference_while_pods_come_and_go(seed: int) -> None:
    for trial in pods_come_and_go(seed):
        for line, _, node in trial.infos():
            expected = reference.binding(trial.pod, node, trial.cluster.listers)
            assert trial.reasons("VolumeBinding", line) == expected.reasons


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_reserve_takes_what_the_reference_finds_and_unreserve_gives_it_back(seed: int) -> None:
    for trial in changing_cluster(seed, steps=1):
        before = reasons_by_line(trial)
        for line, info, node in trial.infos():
            if not before[line]:
                expected = reference.binding(trial.pod, node, trial.cluster.listers)
                check_reservation(trial, info.name, expected)
                assert reasons_by_line(replace(trial, verdicts={})) == before


def reasons_by_line(trial: Trial) -> dict[int, set[str]]:
    return {line: trial.reasons("VolumeBinding", line) for line in trial.lines}


def check_reservation(trial: Trial, node: str, expected: reference.Binding) -> None:
    binding, listers, state = trial.plugins.binding, trial.cluster.listers, trial.state.clone()
    assert binding.reserve(state, trial.pod, node) is None
    for claim, volume in expected.bound.items():
        assumed = listers.assumed_volumes.get(volume)
        assert assumed is not None and assumed.spec.claim_ref is not None
        assert assumed.spec.claim_ref.name == claim
    for claim in expected.made:
        selected = listers.assumed_claims.get(claim, "default")
        assert selected is not None
        assert selected.metadata.annotations[reference.SELECTED] == node
    binding.unreserve(state, trial.pod, node)
    for volume_object in listers.persistent_volumes:
        assert listers.assumed_volumes.get(volume_object.metadata.name) is volume_object

"""Scenarios recorded from a Kubernetes API server have the same responses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from apps.cluster.models import Cluster
from tests.api.replay import Replay, Views

DATA = Path(__file__).with_name("data")
#: Scenario -> (compared exchanges, steps that differ: "2 5-7").
RESULTS: Final[Mapping[str, tuple[int, str]]] = {
    "01_discovery": (23, ""),
    "02_kinds": (121, ""),
    "03_names_namespaces": (31, ""),
    "04_selectors": (45, ""),
    "05_paging": (30, ""),
    "06_tables_metadata": (58, ""),
    "07_update": (39, ""),
    "08_patch": (40, ""),
    "09_apply": (25, ""),
    "10_subresources": (69, ""),
    "11_delete": (70, ""),
    "12_pod_validation": (70, ""),
    "13_other_validation": (52, ""),
    "14_defaulting": (49, ""),
    "15_priority_runtimeclass": (35, ""),
    "16_protocol": (38, ""),
    "17_watch": (59, ""),
    "18_events_leases": (28, ""),
    "19_expired": (13, ""),
    "f01_apply_lists": (37, ""),
    "f03_patch_lists": (39, ""),
    "f05_chunks": (40, "18-19"),
    "f07_tables": (98, "33-34 95-96"),
    "f09_eviction": (64, ""),
    "f11_scale": (47, "19"),
    "f13_malformed_core": (43, "7 10 19-20 23"),
    "f15_crd_cel": (49, ""),
    "f17_defaults_names": (47, "24"),
    "f19_protocol": (92, "57 88"),
    "f21_workload_updates": (59, ""),
    "g01_ownership": (59, ""),
    "g02_defaults": (82, ""),
    "g03_statuses": (145, ""),
    "r01_roles": (45, ""),
    "r02_rules": (62, ""),
    "r03_subjects": (55, ""),
    "r04_impersonation": (28, ""),
    "r05_escalation": (65, ""),
    "r06_reviews": (68, ""),
    "r07_bootstrap": (63, ""),
    "r08_apiservices": (20, ""),
    "r09_writes": (76, ""),
}


def test_every_scenario_is_replayed() -> None:
    assert {path.stem for path in DATA.glob("*.jsonl")} == set(RESULTS)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scenario", RESULTS)
def test_a_recorded_scenario_has_the_recorded_responses(
    scenario: str, cluster: Cluster, key: str
) -> None:
    # as recorded: nothing acts on the cluster
    Cluster.objects.update(paused=True)
    replay = Replay(Views(f"/k8s/{cluster.name}"), key)
    found = list(replay.play(DATA / f"{scenario}.jsonl"))
    compared, different = RESULTS[scenario]
    listed = _numbers(different)
    differences = [str(each) for each in found if each and each.step not in listed]
    assert differences == []
    assert (len(found), sum(each is None for each in found)) == (compared, compared - len(listed))


def _numbers(ranges: str) -> set[int]:
    ends = (each.partition("-") for each in ranges.split())
    return {n for first, _, last in ends for n in range(int(first), int(last or first) + 1)}

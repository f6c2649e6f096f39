"""Scenarios recorded from a Kubernetes API server have the same responses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from django.test import Client

from apps.cluster.models import Cluster
from tests.api.replay import Replay

DATA = Path(__file__).with_name("data")
#: Scenario -> (compared exchanges, numbers of the steps that differ).
RESULTS: Final[Mapping[str, tuple[int, tuple[int, ...]]]] = {
    "01_discovery": (23, ()),
    "02_kinds": (121, ()),
    "03_names_namespaces": (31, ()),
    "04_selectors": (45, ()),
    "05_paging": (30, ()),
    "06_tables_metadata": (58, ()),
    "07_update": (39, ()),
    "08_patch": (40, ()),
    "09_apply": (25, ()),
    "10_subresources": (69, ()),
    "11_delete": (70, ()),
    "12_pod_validation": (70, ()),
    "13_other_validation": (52, ()),
    "14_defaulting": (49, ()),
    "15_priority_runtimeclass": (35, ()),
    "16_protocol": (38, ()),
    "17_watch": (59, ()),
    "18_events_leases": (28, ()),
    "19_expired": (13, ()),
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
    replay = Replay(Client(), f"/k8s/{cluster.name}", key)
    found = list(replay.play(DATA / f"{scenario}.jsonl"))
    compared, different = RESULTS[scenario]
    differences = [str(each) for each in found if each and each.step not in different]
    assert differences == []
    assert (len(found), sum(each is None for each in found)) == (
        compared,
        compared - len(different),
    )

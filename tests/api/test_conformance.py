"""Scenarios recorded from a Kubernetes API server have the same responses."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from apps.cluster.models import Cluster
from tests.api.replay import Replay

DATA = Path(__file__).with_name("data")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scenario", sorted(path.stem for path in DATA.glob("*.jsonl")))
def test_a_recorded_scenario_has_the_recorded_responses(
    scenario: str, cluster: Cluster, key: str
) -> None:
    # as recorded: nothing acts on the cluster
    Cluster.objects.update(paused=True)
    replay = Replay(Client(), f"/k8s/{cluster.name}", key)
    differences = [str(found) for found in replay.play(DATA / f"{scenario}.jsonl") if found]
    assert differences == []

"""Scenarios that were recorded from a Kubernetes API server and are answered the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from apps.cluster.models import Cluster
from tests.api.replay import Replay

DATA = Path(__file__).with_name("data")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scenario", sorted(path.stem for path in DATA.glob("*.jsonl")))
def test_a_recorded_scenario_is_answered_as_recorded(
    scenario: str, cluster: Cluster, key: str
) -> None:
    replay = Replay(Client(), f"/k8s/{cluster.name}", key)
    differences = [str(found) for found in replay.play(DATA / f"{scenario}.jsonl") if found]
    assert differences == []

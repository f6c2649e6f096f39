"""Names that the server draws: one that exists is drawn again."""

from __future__ import annotations

from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.admission.names import DRAWS
from apps.cluster.errors import AlreadyExists
from apps.cluster.models import Cluster
from apps.cluster.writes import Create
from apps.cluster.writing import store
from apps.studies.scenarios.memory import memory_objects
from apps.studies.scenarios.memory.memory_objects import MemoryObjects
from tests.cluster.writing.drawing import draw_names
from tests.cluster.writing.ways import ACTOR, OneStatement, Stored

BODY = {
    "metadata": {"generateName": "web-"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
POD = Create(kinds.POD, BODY, "default")
UNABLE = (
    'pods "web-bbbbb" already exists, the server was not able to generate a unique name for the '
    "object"
)


def names(outcomes: Any) -> list[str]:
    return [outcome["metadata"]["name"] for outcome in outcomes]


@pytest.mark.django_db(transaction=True)
def test_a_name_that_exists_is_drawn_up_to_eight_times(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = create_cluster("lab", user="tests", paused=True)
    draw_names(monkeypatch, "b")
    assert names(Stored(cluster).write_all([POD])) == ["web-bbbbb"]
    for way, last in ((Stored, "c"), (OneStatement, "d")):
        draw_names(monkeypatch, "b" * (DRAWS - 1) + last)
        assert names(way(cluster).write_all([POD])) == [f"web-{last * 5}"]
    draw_names(monkeypatch, "b" * DRAWS + "f")
    refused = Stored(cluster).write_all([POD])[0]
    assert isinstance(refused, AlreadyExists)
    assert refused.message == UNABLE
    assert refused.details["retryAfterSeconds"] == 1


@pytest.mark.django_db
def test_objects_that_are_created_together_get_different_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = create_cluster("lab", user="tests", paused=True)
    draw_names(monkeypatch, "bbc")
    assert names(store.write(cluster, [POD, POD], actor=ACTOR)) == ["web-bbbbb", "web-ccccc"]
    invalid = Create(kinds.POD, {**BODY, "spec": {}}, "default")
    draw_names(monkeypatch, "bdfg")
    first, refused, last = store.write(
        cluster, [POD, invalid, POD], actor=ACTOR, collect_refusals=True
    )
    assert not isinstance(refused, dict)
    # the invalid one has drawn a name, too
    assert names([first, last]) == ["web-ggggg", "web-fffff"]


def test_a_scenario_draws_a_name_that_exists_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_objects, "ALPHABET", "bc")
    monkeypatch.setattr(memory_objects, "_SUFFIX", 1)
    objects = MemoryObjects(Cluster(name="scenario"), seed=7)
    namespace = Create(kinds.NAMESPACE, {"metadata": {"generateName": "web-"}})
    outcomes = objects.write([namespace] * 3, "tests", collect_refusals=True)
    assert sorted(names(outcomes[:2])) == ["web-b", "web-c"]
    assert isinstance(outcomes[2], AlreadyExists)

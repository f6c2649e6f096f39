"""Operations in the control-plane API."""

from __future__ import annotations

import pytest

from apps.cluster.models import Cluster
from apps.engine.models import Operation
from tests.api.control.conftest import Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab(api: Api) -> Cluster:
    api.post("/clusters", {"name": "lab", "nodes": 2})
    return Cluster.objects.get(name="lab")


def test_a_copy_is_started_followed_and_cancelled(api: Api, lab: Cluster) -> None:
    begun = api.post("/clusters/lab/copy", {"name": "twin"})
    assert begun.status_code == 202
    operation = begun.json()
    assert (operation["kind"], operation["state"], operation["cluster"]) == (
        "copy",
        "waiting",
        None,
    )
    assert api.get(f"/operations/{operation['id']}").json() == operation
    cancelled = api.post(f"/operations/{operation['id']}/cancel", {})
    assert (cancelled.status_code, cancelled.json()["state"]) == (200, "cancelled")
    again = api.post(f"/operations/{operation['id']}/cancel", {})
    assert again.status_code == 409 and "has ended" in again.content.decode()


@pytest.mark.parametrize(
    ("path", "body", "status", "told"),
    [
        ("/clusters/lab/copy", {"name": "lab"}, 409, "already exists"),
        ("/clusters/lab/copy", {"name": "No Name"}, 422, "name"),
        ("/clusters/lab/copy", {}, 400, "name"),
        ("/clusters/nowhere/copy", {"name": "twin"}, 404, "nowhere"),
        ("/clusters/lab/nodes/nothing/drain", {}, 404, "nothing"),
        ("/clusters/lab/nodes/node-0/drain", {"timeout_seconds": 0}, 400, "timeout_seconds"),
        ("/operations/999/cancel", {}, 404, "999"),
    ],
)
def test_an_operation_that_cannot_start_is_an_error(
    api: Api, lab: Cluster, path: str, body: dict[str, object], status: int, told: str
) -> None:
    answer = api.post(path, body)
    assert (answer.status_code, told in answer.content.decode()) == (status, True)
    assert not Operation.objects.exists()


def test_a_second_drain_is_rejected_while_one_is_running(api: Api, lab: Cluster) -> None:
    first = api.post("/clusters/lab/nodes/node-0/drain", {})
    assert first.status_code == 202
    second = api.post("/clusters/lab/nodes/node-1/drain", {})
    assert second.status_code == 409
    assert f"operation {first.json()['id']}: Drain node-0" in second.content.decode()


def test_the_list_is_filtered_by_cluster_and_state(api: Api, lab: Cluster) -> None:
    export = api.post("/clusters/lab/exports", {}).json()
    api.post("/clusters/lab/copy", {"name": "twin"})
    assert [each["id"] for each in api.get("/operations?cluster=lab").json()["results"]] == [
        export["id"]
    ]
    assert len(api.get("/operations?state=waiting").json()["results"]) == 2
    newest = api.get("/operations?page_size=1").json()
    older = api.client.get(newest["next"], headers=api.headers).json()
    assert [each["id"] for each in older["results"]] == [export["id"]] and older["next"] is None
    assert api.get("/operations?state=odd").status_code == 400
    assert api.get(f"/operations/{export['id']}/output").status_code == 404

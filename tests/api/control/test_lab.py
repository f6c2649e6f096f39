"""Simulations and questions about capacity over REST; `test_examples.py` sends all of them."""

from __future__ import annotations

from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from tests.api.control.conftest import Api
from tests.engine.driving import pod

pytestmark = pytest.mark.django_db(transaction=True)

QUESTIONS = (
    "simulate",
    *(f"capacity/{each}" for each in ("fit", "nodes", "emptiable", "failures")),
)


def test_a_simulation_is_explained_like_a_recorded_decision_and_names_its_state(key: str) -> None:
    create_cluster("lab", user="alice", nodes=2)
    api = Api(key)
    objects: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Pod", **pod(name, cpu=cpu)}
        for name, cpu in (("small", "1"), ("big", "64"))
    ]
    answer = api.post("/clusters/lab/simulate", {"objects": objects})
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body["state"]["resource_version"] == api.get("/clusters/lab").json()["resource_version"]
    (small,), (big,) = body["placed"], body["not_placed"]
    assert small["explanation"]["scores"]["nodes"][0] == small["node"]
    assert small["sentence"].startswith(f"{small['node']} tied with ")
    assert big["sentence"] == "It needs 64 cpu; the largest node has 8."
    assert big["explanation"]["refusals"][0]["count"] == 2
    assert api.get("/clusters/lab/decisions").json()["results"] == []


def test_only_users_may_ask() -> None:
    create_cluster("lab", user="alice")
    for question in QUESTIONS:
        assert Api().post(f"/clusters/lab/{question}", {}).status_code == 401


def test_a_misspelt_field_is_an_error_that_names_it(key: str) -> None:
    create_cluster("lab", user="alice", nodes=2)
    api = Api(key)
    asked = {
        **dict.fromkeys(QUESTIONS, {"delete_node": ["node-1"]}),
        "fork": {"name": "copy", "versoin": 1},
        "replays": {"sicne": "1"},
        "clock": {"mode": "manual", "speeed": 2},
    }
    for path, body in asked.items():
        send = api.put if path == "clock" else api.post
        answer = send(f"/clusters/lab/{path}", body)
        assert answer.status_code == 400, (path, answer.content)
        (cause,) = answer.json()["causes"]
        assert cause["field"] in ("delete_node", "versoin", "sicne", "speeed")
        assert cause["message"].startswith("unknown field; known fields are ")
    assert [each["name"] for each in api.get("/clusters").json()] == ["lab"]
    assert api.get("/clusters/lab/replays").json() == []


def test_an_object_without_apiversion_is_told_so(key: str) -> None:
    create_cluster("lab", user="alice", nodes=1)
    for body, missing in (({"kind": "Pod"}, "apiVersion"), ({"apiVersion": "v1"}, "kind")):
        answer = Api(key).post("/clusters/lab/simulate", {"objects": [body]})
        assert answer.status_code == 400
        assert answer.json()["message"] == f"objects: document 1: {missing} is required"

"""The tokens of a user; the description of the API."""

from __future__ import annotations

import json
import time

import pytest
import yaml
from django.contrib.auth.models import User

from apps.cluster.models import Cluster
from apps.people.tokens import create_token
from tests.api.control.conftest import Api

pytestmark = pytest.mark.django_db


def test_tokens_are_created_listed_and_deleted(api: Api, cluster: Cluster) -> None:
    wanted = {"name": "ci", "clusters": ["c1"], "read_only": True, "expires_at": "2099-01-01T00:00"}
    created = api.post("/tokens", wanted)
    assert created.status_code == 201 and created.headers["Cache-Control"] == "no-store"
    key = created.json()["token"]
    listed = api.get("/tokens").json()
    assert [each["name"] for each in listed] == ["ci", "test"]
    assert listed[0]["clusters"] == ["c1"] and key not in str(listed)
    assert key.startswith(listed[0]["start"])
    assert listed[1]["last_used_at"] is not None
    assert api.post("/tokens", wanted).status_code == 409
    assert api.delete(f"/tokens/{listed[0]['id']}").status_code == 204
    assert Api(key).get("/tokens").status_code == 401
    assert api.get(f"/tokens/{listed[0]['id']}").status_code == 404


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"name": "x", "clusters": ["nowhere"]}, "clusters"),
        ({"name": "x", "clusters": []}, "clusters"),
        ({"name": "x", "expires_at": "2020-01-01T00:00Z"}, "expires_at"),
        ({"name": "x", "expires_at": "tomorrow"}, "expires_at"),
        ({"name": " "}, "name"),
        ({"name": "a\u0007"}, "name"),
        ({}, "name"),
    ],
)
def test_a_wrong_token_is_refused_by_field(api: Api, wanted: dict[str, object], field: str) -> None:
    answer = api.post("/tokens", wanted)
    assert answer.status_code in (400, 422)
    assert [cause["field"] for cause in answer.json()["causes"]] == [field]


def test_a_limited_token_gets_no_token_without_limits(api: Api) -> None:
    limited = Api(api.post("/tokens", {"name": "ci", "read_only": True}).json()["token"])
    assert limited.get("/tokens").status_code == 200
    answer = limited.post("/tokens", {"name": "more"})
    assert answer.status_code == 403 and "read-only" in answer.json()["message"]
    assert limited.delete("/tokens/1").status_code == 403


def test_tokens_of_others_do_not_exist(api: Api) -> None:
    bob = create_token(User.objects.create_user("bob"), "bobs")
    assert api.get(f"/tokens/{bob.token.pk}").status_code == 404
    assert api.delete(f"/tokens/{bob.token.pk}").status_code == 404


def test_an_unauthenticated_request_sees_no_token(anonymous: Api) -> None:
    answer = anonymous.get("/tokens")
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.json()["reason"] == "Unauthorized"
    assert anonymous.post("/tokens").status_code == 401


def test_an_unknown_address_is_404_as_json(api: Api, anonymous: Api) -> None:
    for answer in (api.get("/nodes"), api.post("/clusters/demo/podz", {}), api.get("/clusters/")):
        assert answer.status_code == 404
        assert answer.json()["reason"] == "NotFound"
        assert "does not exist" in answer.json()["message"]
    assert anonymous.get("/nodes").status_code == 401


def test_the_schema_describes_every_path(api: Api) -> None:
    answer = api.client.get("/api/schema", headers=api.headers)
    schema = yaml.safe_load(answer.content)
    assert "/api/v1/clusters/{name}/import" in schema["paths"]
    assert schema["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"


def test_client_generators_find_distinct_names(api: Api) -> None:
    document = api.client.get("/api/schema?format=json", headers=api.headers).json()
    names = list(document["components"]["schemas"])
    assert all(name[0].isupper() for name in names)
    assert "PodsAhead" in names and "#/components/schemas/_" not in json.dumps(document)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", []):
                schema = parameter["schema"]
                values = schema.get("x-enum-varnames") or schema.get("enum", [])
                constants = {str(value).upper() for value in values}
                assert len(constants) == len(values), (method, path, parameter["name"])


def test_the_schema_is_generated_once(api: Api) -> None:
    first = api.client.get("/api/schema?format=json", headers=api.headers)
    began = time.process_time()
    again = api.client.get("/api/schema?format=json", headers=api.headers)
    # generating it takes seconds
    assert time.process_time() - began < 1
    assert again.content == first.content
    # the page asks for JSON: browsers read YAML of this size for seconds
    script = api.client.get("/api/docs?script=", headers=api.headers).content.decode()
    assert r"format\u003Djson" in script


def test_schema_docs_and_root_require_a_user(api: Api, anonymous: Api) -> None:
    for path in ("/api/schema", "/api/docs", "/api/v1/"):
        assert api.client.get(path, headers=api.headers).status_code == 200
        assert anonymous.client.get(path).status_code in (401, 403)


def test_the_api_can_be_browsed(api: Api) -> None:
    headers = {**api.headers, "accept": "text/html"}
    answer = api.client.get("/api/v1/clusters", headers=headers)
    assert "text/html" in answer.headers["Content-Type"]

"""The user's own key; the description of the API."""

from __future__ import annotations

import pytest
import yaml

from tests.api.control.conftest import Api

pytestmark = pytest.mark.django_db


def test_the_key_is_told_and_can_be_changed(api: Api, key: str) -> None:
    assert api.get("/token").json() == {"user": "alice", "token": key}
    fresh = api.post("/token").json()["token"]
    assert fresh != key
    assert api.get("/token").status_code == 401
    assert Api(fresh).get("/token").json()["token"] == fresh


def test_a_stranger_gets_no_key(anonymous: Api) -> None:
    answer = anonymous.get("/token")
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.json()["reason"] == "Unauthorized"
    assert anonymous.post("/token").status_code == 401


def test_the_schema_describes_every_path(api: Api) -> None:
    answer = api.client.get("/api/schema", headers=api.headers)
    schema = yaml.safe_load(answer.content)
    assert "/api/v1/clusters/{name}/import" in schema["paths"]
    assert schema["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"


def test_schema_docs_and_root_are_for_members(api: Api, anonymous: Api) -> None:
    for path in ("/api/schema", "/api/docs", "/api/v1/"):
        assert api.client.get(path, headers=api.headers).status_code == 200
        assert anonymous.client.get(path).status_code in (401, 403)


def test_the_api_can_be_browsed(api: Api) -> None:
    headers = {**api.headers, "accept": "text/html"}
    answer = api.client.get("/api/v1/clusters", headers=headers)
    assert "text/html" in answer.headers["Content-Type"]

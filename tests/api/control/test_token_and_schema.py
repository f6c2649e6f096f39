"""The token of a user; the description of the API."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml
from django.contrib.auth.models import User
from django.db import connection, transaction
from rest_framework.authtoken.models import Token

from tests.api.control.conftest import Api
from tests.stack.running_site import wait_until

pytestmark = pytest.mark.django_db


def test_the_token_is_returned_and_can_be_replaced(api: Api, key: str) -> None:
    assert api.get("/token").json() == {"user": "alice", "token": key}
    fresh = api.post("/token").json()["token"]
    assert fresh != key
    assert api.get("/token").status_code == 401
    assert Api(fresh).get("/token").json()["token"] == fresh


def test_an_unauthenticated_request_gets_no_token(anonymous: Api) -> None:
    answer = anonymous.get("/token")
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.json()["reason"] == "Unauthorized"
    assert anonymous.post("/token").status_code == 401


@pytest.mark.django_db(transaction=True)
def test_of_two_concurrent_replacements_the_later_one_is_valid(key: str) -> None:
    def change() -> int:
        try:
            return Api(key).post("/token").status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as others:
        with transaction.atomic():
            Token.objects.select_for_update().get(key=key)
            User.objects.select_for_update().get(username="alice")
            answers = [others.submit(change) for _ in range(2)]
            wait_until(lambda: waiting() == 2)
        assert [answer.result(timeout=30) for answer in answers] == [201, 201]
    assert Token.objects.count() == 1


def waiting() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted")
        return int(cursor.fetchone()[0])


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


def test_schema_docs_and_root_require_a_user(api: Api, anonymous: Api) -> None:
    for path in ("/api/schema", "/api/docs", "/api/v1/"):
        assert api.client.get(path, headers=api.headers).status_code == 200
        assert anonymous.client.get(path).status_code in (401, 403)


def test_the_api_can_be_browsed(api: Api) -> None:
    headers = {**api.headers, "accept": "text/html"}
    answer = api.client.get("/api/v1/clusters", headers=headers)
    assert "text/html" in answer.headers["Content-Type"]

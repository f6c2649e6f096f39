"""Responses to browsers and programs when the database is unavailable."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(db: None) -> Client:
    """A browser that is logged in and shows errors instead of raising them."""
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("alice"))
    return client


@pytest.fixture
def database_unavailable(client: Client) -> Iterator[None]:
    """No connection can be made, as while the server restarts."""
    host = connection.settings_dict["HOST"]
    connection.close()
    connection.settings_dict["HOST"] = "/nowhere"
    yield
    connection.settings_dict["HOST"] = host
    connection.close()


@pytest.mark.usefixtures("database_unavailable")
@pytest.mark.parametrize("path", ["/", "/clusters/lab"])
def test_a_page_without_the_database_returns_503_with_retry_after(
    client: Client, path: str
) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert "The database is unavailable" in answer.content.decode()


@pytest.mark.usefixtures("database_unavailable")
@pytest.mark.parametrize("path", ["/api/v1/clusters", "/k8s/lab/api/v1/pods"])
def test_programs_get_a_json_status(client: Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert answer.json()["reason"] == "ServiceUnavailable"


def test_an_internal_error_is_still_a_500(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE cluster_cluster RENAME COLUMN seed TO seeds")
    try:
        assert client.get("/").status_code == 500
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE cluster_cluster RENAME COLUMN seeds TO seed")

"""A full disk: changes are refused with a reason, reads go on, and it ends by itself."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import OperationalError
from django.test import RequestFactory

from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.tasks import run_loop
from apps.api.kubernetes.views import error_response
from apps.cluster import storage
from apps.cluster.models import Cluster
from apps.engine.models import SchedulingDecision
from schedweb.failures import failure
from schedweb.front.space import refuse_change
from schedweb.health import CheckFailed, check_disk
from tests.engine.driving import create_pods, pod


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Any:
    """More space is needed than any disk has; call it with another limit in MiB."""
    (settings.DATA_DIR / "postgres").mkdir(exist_ok=True)

    def need(megabytes: int) -> None:
        monkeypatch.setattr(settings, "MIN_FREE_MEGABYTES", megabytes)
        monkeypatch.setattr(storage.shortage.__self__, "_until", 0.0)

    need(10**9)
    yield need
    need(0)
    storage.shortage()


def send(method: str, path: str) -> tuple[int, str]:
    """The status and the text of the refusal; 0 if the request was not refused."""
    messages: list[Any] = []

    async def collect(message: Any) -> None:
        messages.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": []}
    if not asyncio.run(refuse_change(scope, collect)):
        return 0, ""
    assert (b"retry-after", b"5") in messages[0]["headers"]
    return messages[0]["status"], messages[1]["body"].decode()


def test_changes_are_refused_with_a_reason_and_reads_go_on(full_disk: Any) -> None:
    status, text = send("POST", "/k8s/lab/api/v1/namespaces/default/pods")
    refusal = json.loads(text)
    assert (status, refusal["kind"], refusal["reason"]) == (507, "Status", "InsufficientStorage")
    assert refusal["message"].startswith("the disk of the database is full (")
    assert send("DELETE", "/k8s/lab/api/v1/nodes/n")[0] == 507
    assert send("PATCH", "/api/v1/clusters/lab")[0] == 507
    status, page = send("POST", "/clusters/lab/pods/create")
    assert status == 507 and "The disk of the database is full (" in page
    for method, path in (
        ("GET", "/k8s/lab/api/v1/pods"),
        ("POST", "/login"),
        ("POST", "/k8s/lab/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("DELETE", "/api/v1/clusters/lab"),
    ):
        assert send(method, path)[0] == 0, path
    with pytest.raises(CheckFailed, match="the disk of the database is full"):
        check_disk()
    full_disk(1)
    assert send("POST", "/k8s/lab/api/v1/namespaces/default/pods")[0] == 0
    check_disk()


@pytest.mark.django_db(transaction=True)
def test_nothing_is_scheduled_until_there_is_room(full_disk: Any) -> None:
    cluster = create_cluster("lab", user="alice", nodes=1)
    create_pods(cluster, pod("a"))
    run_loop(cluster.pk)
    assert not SchedulingDecision.objects.exists()
    assert Cluster.objects.get().due_at is not None, "beat would not send it again"
    full_disk(0)
    run_loop(cluster.pk)
    assert SchedulingDecision.objects.get().node


def lost(cause: Exception) -> OperationalError:
    error = OperationalError(str(cause))
    error.__cause__ = cause
    return error


def test_a_write_whose_connection_was_lost_says_that_it_may_have_been_made() -> None:
    closed = lost(psycopg.OperationalError("server closed the connection unexpectedly"))
    refused = lost(psycopg.OperationalError("connection failed: Connection refused"))
    full = lost(psycopg.errors.DiskFull("could not extend file"))
    for error, writes, status, words in (
        (closed, True, 503, "the change may have been committed; read the object"),
        (closed, False, 503, "currently unable to handle the request"),
        (refused, True, 503, "currently unable to handle the request"),
        (full, True, 507, "the disk of the database is full"),
    ):
        response = error_response(error, "", writes=writes)
        assert response is not None and response.status_code == status
        message = json.loads(response.content)["message"]
        assert words in message and ("may have been" in message) == (error is closed and writes)
        assert response.headers["Retry-After"]
    request = RequestFactory().post("/clusters/lab/pods/create")
    try:
        raise full
    except OperationalError:
        page = failure(request)
    assert page.status_code == 507 and "disk of the database is full" in page.content.decode()

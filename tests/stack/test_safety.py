"""What browsers and strangers may do: headers of pages, tokens that are not stored, slow heads."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.engine.models import LoopLease
from schedweb.front import arriving
from tests.stack.test_front import Running


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/login", "/api/docs", "/nothing/here", "/account/password"])
def test_pages_outside_of_clusters_have_a_content_policy(admin_client: Client, path: str) -> None:
    client = Client() if path == "/login" else admin_client
    headers = client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert "script-src" not in policy, "scripts follow default-src"
    # the library of this page sets styles of elements
    assert ("'unsafe-inline'" in policy) == (path == "/api/docs")
    assert {"private", "no-cache"} <= set(headers["Cache-Control"].split(", "))
    assert headers["X-Frame-Options"] == "DENY" and headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.django_db
def test_a_cluster_whose_runs_fail_is_not_ready(admin_client: Client) -> None:
    cluster = create_cluster("lab", user="tests")
    assert admin_client.get("/k8s/lab/readyz").status_code == 200
    LoopLease.objects.filter(cluster=cluster).update(failures=3, failure="OverflowError: too large")
    response = admin_client.get("/k8s/lab/readyz")
    assert response.status_code == 500
    assert "the last 3 runs of its loop failed: OverflowError" in response.content.decode()
    LoopLease.objects.filter(cluster=cluster).update(failures=0, failure="")
    assert admin_client.get("/k8s/lab/readyz").status_code == 200


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    assert arriving.HEAD_SECONDS == 20.0, "docs/operations.md says so"
    monkeypatch.setattr(arriving, "HEAD_SECONDS", 0.5)
    running = Running(tmp_path)
    yield running
    running.stop()


def test_a_head_that_never_ends_is_cut_off(site: Running) -> None:
    with socket.create_connection(("localhost", site.port), timeout=10) as web:
        began = time.monotonic()
        web.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        received = web.recv(1000)
        assert received == b"" or b" 408 " in received.split(b"\r\n")[0]
        assert 0.3 < time.monotonic() - began < 8

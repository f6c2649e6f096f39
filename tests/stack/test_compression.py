"""Responses are compressed for clients that accept it; streams and the Kubernetes API are not."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory

from apps.administration.clusters.lifecycle import create_cluster
from schedweb.compression import CompressionMiddleware

pytestmark = pytest.mark.django_db

STYLE = "/static/css/schedweb.css"


@pytest.fixture
def alice(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("alice", password="of wonderland"))
    return client


def fetch(client: Client, path: str, **headers: str) -> Any:
    return client.get(path, headers={"Accept-Encoding": "gzip, br", **headers})


def test_pages_json_and_exports_are_compressed(alice: Client) -> None:
    create_cluster("lab", user="alice", nodes=3)
    for path in (
        "/clusters/lab/nodes",
        "/api/v1/clusters/lab",
        "/api/v1/clusters/lab/export",
        "/api/v1/decisions/export",
        "/api/schema?format=json",
    ):
        plain = alice.get(path)
        packed = fetch(alice, path)
        assert "Content-Encoding" not in plain.headers
        assert packed.headers["Content-Encoding"] == "gzip", path
        assert "Accept-Encoding" in packed.headers["Vary"]
        assert len(gzip.decompress(packed.getvalue())) > 200, path


def test_a_compressed_page_has_a_random_length(alice: Client) -> None:
    create_cluster("lab", user="alice")
    lengths = {len(fetch(alice, "/clusters/lab").content) for _ in range(8)}
    assert len(lengths) > 1


def test_static_files_are_compressed_and_revalidated(client: Client) -> None:
    plain = client.get(STYLE).getvalue()
    for _ in range(2):
        packed = fetch(client, STYLE)
        body = packed.getvalue()
        assert gzip.decompress(body) == plain and len(body) < len(plain) / 2
        assert int(packed.headers["Content-Length"]) == len(body)
    since = packed.headers["Last-Modified"]
    assert fetch(client, STYLE, **{"If-Modified-Since": since}).status_code == 304
    part = fetch(client, STYLE, Range="bytes=0-9")
    assert (part.status_code, part.getvalue()) == (206, plain[:10])
    assert not client.head(STYLE, headers={"Accept-Encoding": "gzip"}).getvalue()


def test_small_lists_of_the_kubernetes_api_are_not_compressed(alice: Client) -> None:
    create_cluster("lab", user="alice", nodes=3)
    answer = fetch(alice, "/k8s/lab/api/v1/nodes")
    assert answer.status_code == 200 and "Content-Encoding" not in answer.headers


@pytest.mark.parametrize("kind", ["text/event-stream", "application/vnd.apache.parquet"])
def test_event_streams_and_binary_files_are_passed_on(kind: str) -> None:
    def answer(request: object) -> HttpResponse:
        return StreamingHttpResponse(iter([b"x" * 500]), content_type=kind)  # type: ignore[return-value]

    request = RequestFactory().get("/", headers={"Accept-Encoding": "gzip"})
    passed: Any = CompressionMiddleware(answer)(request)
    assert "Content-Encoding" not in passed.headers
    assert list(passed.streaming_content) == [b"x" * 500]

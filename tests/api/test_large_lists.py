"""Large lists are composed while they are sent: the process holds a bounded part of them."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from django.http import QueryDict

from apps.api.kubernetes import media, paths
from apps.api.kubernetes.calls import Call
from apps.api.kubernetes.finding import Resolved
from apps.api.kubernetes.watching import Watch, watch_options
from apps.cluster.access.identity import AUTHENTICATED, MASTERS, Identity
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from tests.api.conftest import Kube
from tests.api.large_lists import copy_pod
from tests.api.objects import pod

PODS = "/api/v1/namespaces/default/pods"
COUNT = 2000
#: Bytes of one pod, at least.
SIZE = 2000
#: Bytes that may be held at once: a few pieces, and the rows that arrived together.
HELD = 1_500_000
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@pytest.fixture
def many_pods(kube: Kube, cluster: Cluster) -> Kube:
    body = pod("p")
    body["metadata"]["annotations"] = {"pad": "x" * SIZE}
    assert kube.post(PODS, body).status_code == 201
    copy_pod(cluster, "p", COUNT - 1)
    return kube


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Fail if the block allocates more than `HELD` bytes at a time."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < HELD


def read(response: Any) -> tuple[int, bytes, bytes]:
    """The length of a streamed response, its first piece and its last one."""
    length, first, last = 0, b"", b""
    for piece in response.streaming_content:
        length, first, last = length + len(piece), first or piece, piece
    response.close()
    return length, first, last


@pytest.mark.parametrize("accept", ["", TABLE, METADATA])
def test_a_list_is_sent_while_it_is_read(many_pods: Kube, accept: str) -> None:
    headers = {"Accept": accept} if accept else {}
    many_pods.get(f"{PODS}?limit=1", headers=headers)  # fills caches
    with bounded_memory():
        size, first, last = read(many_pods.get(PODS, headers=headers))
    assert size > COUNT * SIZE
    assert first.startswith(b'{"kind":"')
    assert last.endswith(b"]}\n")


def test_a_streamed_list_has_every_object_in_order(many_pods: Kube, cluster: Cluster) -> None:
    response = many_pods.get(PODS)
    listed = json.loads(b"".join(response.streaming_content))
    names = [item["metadata"]["name"] for item in listed["items"]]
    assert len(names) == COUNT
    assert names == sorted(names)
    cluster.refresh_from_db()
    assert listed["metadata"] == {"resourceVersion": str(cluster.resource_version)}
    single = many_pods.get(f"{PODS}/p").json()
    # items do not repeat their type
    assert {"kind": "Pod", "apiVersion": "v1", **listed["items"][0]} == single


def test_a_large_list_is_compressed_for_clients_that_accept_it(many_pods: Kube) -> None:
    plain = b"".join(many_pods.get(PODS).streaming_content)
    response = many_pods.get(PODS, headers={"Accept-Encoding": "deflate, gzip"})
    assert response.headers["Content-Encoding"] == "gzip"
    packed = b"".join(response.streaming_content)
    assert gzip.decompress(packed) == plain
    assert len(packed) < len(plain) // 5


def test_a_small_list_is_not_compressed(kube: Kube) -> None:
    response = kube.get(PODS, headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in response.headers
    assert response.json()["items"] == []


def test_a_list_in_yaml_equals_the_list_in_json(many_pods: Kube) -> None:
    path = f"{PODS}?limit=100"
    listed = json.loads(b"".join(many_pods.get(path).streaming_content))
    response = many_pods.get(path, headers={"Accept": "application/yaml"})
    text = b"".join(response.streaming_content)
    assert text.decode() == yaml.safe_dump(listed, sort_keys=True, allow_unicode=True)


def test_a_past_list_is_sent_while_it_is_read(many_pods: Kube, cluster: Cluster) -> None:
    cluster.refresh_from_db()
    version = cluster.resource_version
    assert many_pods.post(PODS, pod("later")).status_code == 201
    path = f"{PODS}?resourceVersion={version}&resourceVersionMatch=Exact"
    with bounded_memory():
        size, _, _ = read(many_pods.get(path))
    assert size > COUNT * SIZE


def test_the_initial_events_of_a_watch_are_read_while_they_are_sent(
    many_pods: Kube, cluster: Cluster
) -> None:
    target = paths.parse(PODS.removeprefix("/"))
    assert target is not None
    query = QueryDict("watch=1")
    actor, identity = Actor("alice", ""), Identity("alice", (MASTERS, AUTHENTICATED))
    call = Call(Resolved(cluster), target, "GET", query, b"", "", media.PLAIN, actor, identity)
    watch = Watch(call, watch_options(call))
    with bounded_memory():
        events = sum(line.startswith(b'{"type":"ADDED"') for line in watch.begin())
    assert events == COUNT

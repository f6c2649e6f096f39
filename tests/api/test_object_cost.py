"""What a request for one object may cost: its round trips to the database."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User

from apps.api import object_requests
from apps.cluster.models import Pod
from tests.api.conftest import Kube
from tests.api.objects import NODES, PODS, binding, node, pod
from tests.engine.driving import Traffic, traffic

pytestmark = pytest.mark.django_db(transaction=True)

MERGE = "application/merge-patch+json"


def send(
    kube: Kube, method: str, path: str, body: Any = None, content_type: str = "application/json"
) -> Traffic:
    """Send a request on the way of the web front; it succeeds."""
    raw = b"" if body is None else json.dumps(body).encode()
    address = urlsplit(kube.root + path)
    scope = {"method": method, "path": address.path, "query_string": address.query.encode()}
    headers = {
        b"authorization": b"Bearer token",
        b"content-type": content_type.encode(),
        b"content-length": str(len(raw)).encode(),
    }
    request = object_requests.request_of(scope, headers)
    assert request is not None
    user = User.objects.get(username="alice")
    with traffic() as found:
        response = object_requests.respond(request, raw, user, "request-9")
    assert response.status_code < 300, response.content
    return found


def waits(found: Traffic) -> int:
    """How often a request waits for the database; the web front announces changes later."""
    return found.round_trips - len(found.about("pg_notify"))


def test_a_write_of_one_object_is_two_round_trips(kube: Kube) -> None:
    kube.post(NODES, node("n1"))
    for name in ("p1", "p2"):
        kube.post(PODS, pod(name))
    p1 = f"{PODS}/p1"
    label = {"metadata": {"labels": {"set": "x"}}}
    body = kube.get(f"{p1}?pretty=true").json()
    body["metadata"]["labels"] = {"set": "y"}
    uid = str(Pod.objects.get(name="p2").uid)
    assert waits(send(kube, "GET", f"{p1}?pretty=true")) == 1
    assert waits(send(kube, "PUT", p1, body)) == 2
    assert waits(send(kube, "PATCH", p1, label, MERGE)) == 2
    assert waits(send(kube, "PATCH", f"{p1}/status", {"status": {"message": "m"}}, MERGE)) == 2
    assert waits(send(kube, "PATCH", f"{NODES}/n1", label, MERGE)) == 2
    assert waits(send(kube, "POST", f"{PODS}/p2/binding", binding("p2", "n1", uid=uid))) == 2
    assert Pod.objects.get(name="p2").node_name == "n1"
    assert waits(send(kube, "DELETE", f"{p1}?gracePeriodSeconds=0")) == 2
    assert not Pod.objects.filter(name="p1").exists()


def test_an_update_that_changes_nothing_only_reads(kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    label = {"metadata": {"labels": {"set": "x"}}}
    assert waits(send(kube, "PATCH", f"{PODS}/p1", label, MERGE)) == 2
    assert waits(send(kube, "PATCH", f"{PODS}/p1", label, MERGE)) == 1

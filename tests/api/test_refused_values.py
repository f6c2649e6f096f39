"""Values that the database cannot store, or a page cannot show, are no error of the server."""

from __future__ import annotations

import pytest

from tests.api.conftest import Kube
from tests.api.objects import PODS, pod

pytestmark = pytest.mark.django_db
LONG = "x" * 5000


def test_texts_longer_than_a_column_are_stored_in_full(kube: Kube) -> None:
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p", "uid": LONG},
        "reason": LONG,
        "type": "Normal",
    }
    answer = kube.post("/api/v1/namespaces/default/events", event)
    assert answer.status_code == 201
    assert answer.json()["reason"] == LONG
    assert answer.json()["involvedObject"]["uid"] == LONG
    kube.post(PODS, pod("p"))
    answer = kube.patch(f"{PODS}/p/status", {"status": {"phase": LONG, "nominatedNodeName": LONG}})
    assert answer.status_code in (200, 422)
    assert kube.post(PODS, pod("q", schedulerName=LONG)).status_code in (201, 422)


@pytest.mark.parametrize(
    "path",
    [
        "/k8s/c1/api/v1/pods?labelSelector=a%3D%00",
        "/k8s/c1/api/v1/pods?fieldSelector=metadata.name%3D%00",
        "/k8s/c1/api/v1/namespaces/de%00fault/pods",
        "/k8s/c1/api/v1/namespaces/default/pods/a%00b",
        "/api/v1/clusters/c1/decisions?pod=%00",
        "/api/v1/clusters/c1/changes?name=%00",
        "/api/v1/clusters?name=%00",
    ],
)
def test_nul_in_an_address_is_refused_with_a_status(kube: Kube, path: str) -> None:
    answer = kube.client.get(path, headers=kube.headers)
    assert answer.status_code in (400, 404)
    assert answer.headers["Content-Type"].startswith("application/json")


def test_an_import_says_which_content_type_it_needs(kube: Kube) -> None:
    for content_type in ("", "nonsense", "text/html"):
        answer = kube.client.generic(
            "POST",
            "/api/v1/clusters/c1/import",
            data=b"kind: Pod",
            content_type=content_type,
            headers=kube.headers,
        )
        assert 400 <= answer.status_code < 500
        assert answer.headers["Content-Type"].startswith("application/json")


@pytest.mark.parametrize(
    "since", ["2026-01-01T00:00:00+16:01", "2026-01-01T00:00:00-23:59", "9e99h"]
)
def test_times_beyond_any_zone_are_refused(kube: Kube, since: str) -> None:
    path = "/api/v1/clusters/c1/changes"
    answer = kube.client.get(path, {"since": since}, headers=kube.headers)
    assert answer.status_code == 400
    assert "since" in answer.json()["message"]

"""ResourceClaims through the Kubernetes API: defaults, and who may use devices in use."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster.models import Cluster
from tests.api.conftest import Kube

pytestmark = pytest.mark.django_db

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"


def claim(name: str, **exactly: Any) -> dict[str, Any]:
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", **exactly}}]
    return {"metadata": {"name": name}, "spec": {"devices": {"requests": requests}}}


def test_requests_have_their_defaults(key: str, cluster: Cluster) -> None:
    client = Kube(key, cluster.name)
    zero = claim("a", allocationMode="", count=0, tolerations=[{"key": "k"}])
    (request,) = client.post(CLAIMS, zero).json()["spec"]["devices"]["requests"]
    assert request["exactly"]["allocationMode"] == "ExactCount"
    assert request["exactly"]["count"] == 1
    assert request["exactly"]["tolerations"] == [{"key": "k", "operator": "Equal"}]
    (request,) = client.post(CLAIMS, claim("b", allocationMode="All", count=0)).json()["spec"][
        "devices"
    ]["requests"]
    assert "count" not in request["exactly"]


def test_admin_access_needs_the_label_of_the_namespace(key: str, cluster: Cluster) -> None:
    client = Kube(key, cluster.name)
    template = {"metadata": {"name": "t"}, "spec": {"spec": claim("", adminAccess=True)["spec"]}}
    for path, body, field in (
        (CLAIMS, claim("a", adminAccess=True), "spec.devices.requests[0].exactly.adminAccess"),
        (TEMPLATES, template, "spec.spec.devices.requests[0].exactly.adminAccess"),
    ):
        refused = client.post(path, body)
        assert refused.status_code == 422
        (cause,) = refused.json()["details"]["causes"]
        assert cause["field"] == field
        assert "label on the containing namespace" in cause["message"]
    labels = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    assert client.patch("/api/v1/namespaces/default", labels).status_code == 200
    assert client.post(CLAIMS, claim("a", adminAccess=True)).status_code == 201
    assert client.post(TEMPLATES, template).status_code == 201

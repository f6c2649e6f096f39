"""Scheduler profiles in the control-plane API."""

from __future__ import annotations

import pytest

from apps.cluster.models import Cluster
from tests.api.control.conftest import Api

pytestmark = pytest.mark.django_db

TEXT = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: mine
"""


@pytest.fixture
def profiles(cluster: Cluster) -> str:
    return f"/clusters/{cluster.name}/profiles"


def test_a_new_cluster_has_the_built_in_revision(api: Api, profiles: str) -> None:
    (first,) = api.get(profiles).json()
    assert (first["revision"], first["active"], first["note"]) == (1, True, "built in")


@pytest.mark.parametrize("content_type", ["application/json", "application/yaml"])
def test_a_revision_is_added_and_becomes_active(api: Api, profiles: str, content_type: str) -> None:
    body = TEXT if content_type.endswith("yaml") else {"configuration": TEXT, "note": "try"}
    answer = api.post(profiles, body, content_type=content_type)
    assert answer.status_code == 201
    assert (answer.json()["revision"], answer.json()["user"]) == (2, "alice")
    assert [found["active"] for found in api.get(profiles).json()] == [True, False]
    assert api.get(f"{profiles}/2").json()["configuration"] == TEXT
    assert api.post(f"{profiles}/1/activate").json()["active"] is True
    assert [found["active"] for found in api.get(profiles).json()] == [False, True]


def test_an_invalid_configuration_is_an_error_with_every_field(api: Api, profiles: str) -> None:
    wrong = TEXT + "parallelism: -1\nbogus: 1\n"
    answer = api.post(profiles, {"configuration": wrong})
    assert answer.status_code == 422
    assert answer.json()["causes"]
    assert api.post(profiles, {"configuration": ""}).status_code == 400
    assert api.post(profiles, {}).json()["causes"][0]["field"] == "configuration"
    assert len(api.get(profiles).json()) == 1


def test_plugins_of_earlier_releases_require_legacy(api: Api, profiles: str) -> None:
    body = {"configuration": TEXT + "  pluginConfig: [{name: EBSLimits}]\n"}
    assert api.post(profiles, body).status_code == 422
    assert api.post(profiles, {**body, "legacy": True}).json()["legacy"] is True


def test_unknown_objects_wrong_methods_and_unauthenticated_requests(
    api: Api, anonymous: Api, profiles: str
) -> None:
    assert api.get(f"{profiles}/9").status_code == 404
    assert api.post(f"{profiles}/9/activate").status_code == 404
    assert api.get("/clusters/none/profiles").status_code == 404
    assert api.delete(f"{profiles}/1").status_code == 405
    assert anonymous.get(profiles).status_code == 401
    assert anonymous.post(profiles, {"configuration": TEXT}).status_code == 401

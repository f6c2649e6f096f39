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
    missing = api.get(f"{profiles}/9")
    assert (missing.status_code, missing.json()["message"]) == (404, 'profiles "9" not found')
    assert api.post(f"{profiles}/9/activate").status_code == 404
    assert api.get("/clusters/none/profiles").status_code == 404
    assert api.delete(f"{profiles}/1").status_code == 405
    assert anonymous.get(profiles).status_code == 401
    assert anonymous.post(profiles, {"configuration": TEXT}).status_code == 401


def test_a_revision_is_stored_named_compared_and_activated_later(api: Api, profiles: str) -> None:
    body = {"configuration": TEXT, "name": "mine", "activate": False}
    stored = api.post(profiles, body).json()
    assert (stored["revision"], stored["active"], stored["name"]) == (2, False, "mine")
    assert api.get(f"{profiles}/1").json()["active"] is True
    taken = api.post(profiles, body)
    assert taken.status_code == 422 and taken.json()["causes"][0]["field"] == "name"
    ignored = api.patch(f"{profiles}/2", {"configuration": "kind: Other"})
    assert ignored.status_code == 400 and ignored.json()["causes"][0]["field"] == "configuration"
    renamed = api.patch(f"{profiles}/2", {"note": "for the lab"}).json()
    assert (renamed["name"], renamed["note"]) == ("mine", "for the lab")
    diff = api.get(f"{profiles}/2/diff").json()
    assert (diff["before"], diff["after"]) == (1, 2)
    assert {each["scheduler_name"]: each["status"] for each in diff["effects"]} == {
        "": "changed",
        "default-scheduler": "removed",
        "mine": "added",
    }
    assert "+- schedulerName: mine" in diff["text"]
    assert api.get(f"{profiles}/2/diff?before=2").json()["text"] == ""
    assert api.get(f"{profiles}/2/diff?before=77").status_code == 404
    assert api.post(f"{profiles}/2/activate").json()["active"] is True


def test_a_check_has_all_errors_of_all_stages_and_stores_nothing(api: Api, profiles: str) -> None:
    checked = api.post(f"{profiles}/check", TEXT, content_type="application/yaml")
    assert checked.status_code == 200 and checked.json()["stranded_pods"] == {}
    assert checked.json()["effects"]
    wrong = TEXT + "parallelism: many\npercentageOfNodesToScore: 300\nbogus: 1\n"
    refused = api.post(f"{profiles}/check", {"configuration": wrong})
    assert refused.status_code == 422
    fields = {cause["field"] for cause in refused.json()["causes"]}
    assert fields == {"parallelism", "percentageOfNodesToScore", "bogus"}
    assert len(api.get(profiles).json()) == 1


def test_drafts_and_previews(api: Api, anonymous: Api, cluster: Cluster) -> None:
    base = f"/clusters/{cluster.name}"
    saved = api.put(f"{base}/drafts/wip", {"configuration": "profiles: [", "note": "later"})
    assert (saved.status_code, saved.json()["name"]) == (200, "wip")
    assert api.post(f"{base}/previews", {"draft": "wip"}).status_code == 422
    api.put(f"{base}/drafts/wip", {"configuration": TEXT})
    assert [each["name"] for each in api.get(f"{base}/drafts").json()] == ["wip"]
    assert api.get(f"{base}/drafts/wip").json()["configuration"] == TEXT
    assert api.put(f"{base}/drafts/a%20b", {"configuration": ""}).status_code == 422
    started = api.post(f"{base}/previews", {"draft": "wip", "decisions": 50})
    assert started.status_code == 202 and started.json()["kind"] == "preview"
    waiting = api.get(f"{base}/previews/{started.json()['id']}").json()
    assert waiting["operation"]["state"] == "waiting" and waiting["result"] is None
    both = api.post(f"{base}/previews", {"draft": "wip", "revision": 1})
    assert both.status_code == 400 and "exactly one" in both.json()["message"]
    assert api.post(f"{base}/previews", {"revision": 1, "decisions": 0}).status_code == 400
    assert api.get(f"{base}/previews/777").status_code == 404
    assert api.delete(f"{base}/drafts/wip").status_code == 204
    assert api.get(f"{base}/drafts/wip").status_code == 404
    for path in ("drafts", "previews/1"):
        assert anonymous.get(f"{base}/{path}").status_code == 401

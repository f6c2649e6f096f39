"""Feature gates and conversions in the control-plane API, with the texts of the documents."""

from __future__ import annotations

import pytest
import yaml

from apps.cluster.models import Cluster
from tests.api.control.conftest import Api

pytestmark = pytest.mark.django_db

V1 = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
STRICT_BACKOFF = V1 + "featureGates: {SchedulerPopFromBackoffQ: false}\n"
#: the document's bin packing, with its spelling of the resources
BIN_PACKING = """\
apiVersion: kubescheduler.config.k8s.io/v1beta3
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources: [{name: CPU, weight: 1}, {name: memory, weight: 1}]
"""


@pytest.fixture
def root(cluster: Cluster) -> str:
    return f"/clusters/{cluster.name}"


def test_the_gates_of_a_revision(api: Api, anonymous: Api, root: str) -> None:
    added = api.post(f"{root}/profiles", {"configuration": STRICT_BACKOFF, "activate": False})
    assert added.status_code == 201, added.json()
    gates = f"{root}/feature-gates"
    for number, enabled, flag in ((1, True, ""), (2, False, "SchedulerPopFromBackoffQ=false")):
        body = api.get(f"{gates}?revision={number}").json()
        one = {each["name"]: each for each in body["items"]}["SchedulerPopFromBackoffQ"]
        assert (body["revision"], body["flag"]) == (number, flag)
        assert (one["enabled"], one["given"], one["default"]) == (enabled, not enabled, True)
        assert (one["stage"], one["locked"], one["has_effect"]) == ("Beta", False, True)
    everything = {each["name"] for each in api.get(f"{gates}?all=1").json()["items"]}
    assert {"CPUManagerPolicyAlphaOptions", "GangScheduling"} <= everything
    assert api.get(f"{gates}?revision=9").status_code == 404
    assert anonymous.get(gates).status_code == 401


def test_a_gate_that_cannot_be_set_is_refused_with_its_field(api: Api, root: str) -> None:
    for name, message in (
        ("Scheduler", "unrecognized feature gate: Scheduler"),
        (
            "SchedulerQueueingHints",
            "cannot set feature gate SchedulerQueueingHints to false, feature is locked to true",
        ),
    ):
        text = V1 + f"featureGates: {{{name}: false}}\n"
        answer = api.post(f"{root}/profiles", {"configuration": text})
        assert answer.status_code == 422
        assert answer.json()["causes"] == [{"field": f"featureGates.{name}", "message": message}]


def test_an_older_version_is_refused_with_the_way_to_convert_it(api: Api, root: str) -> None:
    answer = api.post(f"{root}/profiles", {"configuration": BIN_PACKING})
    assert answer.status_code == 422
    (cause,) = answer.json()["causes"]
    assert cause["field"] == "apiVersion"
    assert "/configurations/convert" in cause["message"]
    convert = f"{root}/configurations/convert"
    converted = api.post(convert, BIN_PACKING, content_type="application/yaml")
    assert converted.status_code == 200
    body = converted.json()
    assert yaml.safe_load(body["configuration"])["apiVersion"].endswith("/v1")
    assert any('write "cpu"' in note for note in body["notes"])
    # a document of JSON, as a Policy usually is, needs no wrapping
    priorities = [{"name": "ImageLocalityPriority", "weight": 4}]
    policy = {"kind": "Policy", "apiVersion": "v1", "priorities": priorities}
    assert "ImageLocality" in api.post(convert, policy).json()["configuration"]
    # what it returns can be stored
    stored = api.post(f"{root}/profiles", {**body, "activate": False})
    assert stored.status_code == 201, stored.json()
    assert any('write "cpu"' in warning for warning in stored.json()["warnings"])


def test_a_conversion_takes_the_gates_and_the_policy_of_the_old_scheduler(
    api: Api, anonymous: Api, root: str
) -> None:
    convert = f"{root}/configurations/convert"
    old = "apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\n"
    source = "algorithmSource: {policy: {file: {path: /etc/policy.cfg}}}\n"
    policy = (
        "kind: Policy\napiVersion: v1\npriorities: [{name: ImageLocalityPriority, weight: 4}]\n"
    )
    body = api.post(convert, {"configuration": old + source, "policy": policy}).json()
    assert body["legacy"] and "ImageLocality" in body["configuration"]
    gates = {"VolumeCapacityPriority": True}
    beta = BIN_PACKING.replace("CPU", "cpu")
    body = api.post(convert, {"configuration": beta, "feature_gates": gates}).json()
    assert "VolumeCapacityPriority" in body["configuration"]
    refused = api.post(convert, {"configuration": V1.replace("/v1", "/v2")})
    assert refused.status_code == 422
    assert refused.json()["causes"][0]["field"] == "apiVersion"
    assert api.post(convert, {}).status_code == 400
    assert api.post("/clusters/nowhere/configurations/convert", {}).status_code == 404
    assert anonymous.post(convert, {"configuration": beta}).status_code == 401


def test_a_new_cluster_scores_all_nodes_or_as_many_as_kube_scheduler(api: Api) -> None:
    for percentage in (0, 100):
        body = {"name": f"of-{percentage}", "percentage_of_nodes_to_score": percentage}
        assert api.post("/clusters", body).status_code == 201
        (first,) = api.get(f"/clusters/of-{percentage}/profiles").json()
        text = yaml.safe_load(first["configuration"])
        assert text["percentageOfNodesToScore"] == percentage
    refused = api.post("/clusters", {"name": "x", "percentage_of_nodes_to_score": 101})
    assert refused.status_code == 422
    assert refused.json()["causes"][0]["field"] == "percentage_of_nodes_to_score"

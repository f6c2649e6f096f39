"""The status of ValidatingAdmissionPolicies: what is wrong with the types of their expressions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from apps.cluster import kinds
from apps.cluster.writing import store
from tests.controllers.conftest import ACTOR, Body, Lab

#: Policies with the warnings that kube-controller-manager 1.36.2 has written to their status; the
#: numbers in the names of its types are left out.
RECORDED = Path(__file__).with_name("data") / "policy-types.jsonl"
POLICY = "ValidatingAdmissionPolicy"

pytestmark = pytest.mark.django_db(transaction=True)


def thing() -> Body:
    """The definition of the custom objects that the recorded policies are about."""
    name = {"type": "object", "properties": {"name": {"type": "string"}}}
    fields = {
        "host": {"type": "string"},
        "size": {"type": "string"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "list": {"type": "array", "items": name},
    }
    spec = {"type": "object", "properties": fields}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }
    return {
        "metadata": {"name": "things.tc.example.com"},
        "spec": {
            "group": "tc.example.com",
            "names": {"plural": "things", "kind": "Thing"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def test_the_warnings_are_those_of_kube_controller_manager(lab: Lab) -> None:
    lab.create("CustomResourceDefinition", thing())
    recorded = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    assert len(recorded) > 70
    for each in recorded:
        lab.create(POLICY, {"metadata": {"name": each["name"]}, "spec": each["spec"]})
    lab.settle()
    found = {}
    for each in recorded:
        status = lab.get(POLICY, each["name"])["status"]
        assert status["observedGeneration"] == 1
        found[each["name"]] = status["typeChecking"].get("expressionWarnings", [])
    assert found == {each["name"]: each["warnings"] for each in recorded}


def test_a_policy_is_checked_again_when_its_spec_changes(lab: Lab) -> None:
    def spec(expression: str) -> Body:
        rule = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["pods"],
        }
        return {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": expression}],
        }

    lab.create(POLICY, {"metadata": {"name": "p"}, "spec": spec("object.spec.nodename == ''")})
    lab.settle()
    before = lab.get(POLICY, "p")
    (warning,) = before["status"]["typeChecking"]["expressionWarnings"]
    assert warning["warning"].startswith("/v1, Kind=Pod: ERROR: <input>:1:12: undefined field")
    kind = kinds.by_name(POLICY)
    changed = {**before, "spec": spec("object.spec.nodeName == ''")}
    store.update(lab.cluster, kind, "", "p", changed, actor=ACTOR)
    lab.settle()
    assert lab.get(POLICY, "p")["status"] == {"observedGeneration": 2, "typeChecking": {}}

"""What is listed in docs/differences.md is taken out of the comparison, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.stack.kubectl import Outcome
from tools.truth.kubectl.listed import without_listed as without_listed_of_kubectl
from tools.truth.listed import RULES, without_listed

Body = dict[str, Any]


def listed(kind: str, body: Any, status: int = 200) -> Any:
    answer = {"status": status, "warnings": [], "body": body}
    return without_listed(answer, kind, "/apis", frozenset())["body"]


def test_each_rule_names_a_row_of_the_differences() -> None:
    text = Path("docs/differences.md").read_text()
    _, _, section = text.partition("## Where the API differs")
    section, _, _ = section.partition("\n## ")
    rows = [re.split(r"\s*\|\s*", row)[1:3] for row in section.splitlines() if row.startswith("| ")]
    for rule in RULES:
        assert [cell for cell, _ in rows if cell.startswith(rule.row)], rule.row
    assert all(here for _, here in rows)


def test_a_quota_keeps_all_but_its_counts() -> None:
    quota = {"spec": {"hard": {"pods": "1"}}, "status": {"hard": {"pods": "1"}, "used": {}}}
    assert listed("ResourceQuota", quota) == {"spec": {"hard": {"pods": "1"}}, "status": {}}


def test_an_api_service_keeps_all_but_its_condition_and_who_owns_it() -> None:
    own = {"manager": "kube-apiserver", "subresource": "status"}
    other = {"manager": "kubectl"}
    given = {
        "metadata": {"managedFields": [own, other, {"manager": "kube-apiserver"}]},
        "status": {"conditions": [{"type": "Available"}, {"type": "Other"}]},
    }
    assert listed("APIService", given) == {
        "metadata": {"managedFields": [other, {"manager": "kube-apiserver"}]},
        "status": {"conditions": [{"type": "Other"}]},
    }
    assert listed("PriorityLevelConfiguration", given) == given


def test_what_a_client_has_created_is_no_note_of_the_server() -> None:
    own = {"manager": "kube-apiserver", "subresource": "status"}
    item = {"metadata": {"name": "a", "managedFields": [{"manager": "kubectl"}, own]}}
    answer = {"status": 200, "warnings": [], "body": {"items": [item]}}
    path = "/apis/apiregistration.k8s.io/v1/apiservices"
    shown = without_listed(answer, "APIService", path, frozenset())["body"]["items"]
    assert [each["metadata"]["name"] for each in shown] == ["a"]


def test_causes_have_no_order() -> None:
    causes = [{"message": "conflict with b", "field": "a"}, {"message": "conflict with a"}]
    for reason in ("Conflict", "Invalid"):
        one, other = (
            {
                "kind": "Status",
                "reason": reason,
                "message": "no",
                "details": {"causes": given},
            }
            for given in (causes, causes[::-1])
        )
        assert listed("Pod", one) == listed("Pod", other)


def test_empty_lists_and_maps_are_the_same_in_messages_and_nowhere_else() -> None:
    refusals = [{"message": f"spec: Invalid value: {each}: no"} for each in ("[]", "{}", "null")]
    assert len({listed("Pod", each)["message"] for each in refusals}) == 1
    assert listed("Pod", {"message": "Invalid value: [1]: no"}) != listed("Pod", refusals[0])
    assert listed("Pod", {"spec": []}) == {"spec": []}


def test_kubectl_shows_autoscalers_and_quotas_without_what_is_measured() -> None:
    def shown(line: str, text: str) -> str:
        stdout: str = without_listed_of_kubectl(Outcome(0, text, ""), line).stdout
        return stdout

    table = "NAME   REFERENCE   TARGETS         MINPODS\nweb    Deployment   <unknown>/80%   1"
    assert shown("get hpa", table) == "NAME  REFERENCE  MINPODS\nweb  Deployment  1"
    described = "Name: web\nMin replicas: 1\nConditions:\n  Type\n  ---\nEvents: <none>"
    assert shown("describe hpa web", described) == "Name: web\nMin replicas: 1"
    quota = "metadata: {name: a}\nstatus: {hard: {pods: 1}, used: {pods: 0}}\n"
    assert "pods" not in shown("get quota a -o yaml", quota)
    assert "name: a" in shown("get quota a -o yaml", quota)
    described = "Name: team\nResource  Used  Hard\n--------  ---  ---\npods  0  100"
    assert shown("describe resourcequota/team", described) == "Name: team"
    table = "NAME  SERVICE  AVAILABLE\na  b/c  Unknown"
    assert shown("get apiservice.apiregistration.k8s.io/a", table) == "NAME  SERVICE\na  b/c"

"""What rules allow and cover, and what roles aggregate."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster.access.default_policy import default_policy
from apps.cluster.access.policy_rules import Rule, aggregate, describe, uncovered
from apps.cluster.access.questions import Access

PODS = Rule(("get", "list"), ("",), ("pods",))


@pytest.mark.parametrize(
    ("rule", "access", "allowed"),
    [
        (PODS, Access("get", resource="pods"), True),
        (PODS, Access("watch", resource="pods"), False),
        (PODS, Access("get", group="apps", resource="pods"), False),
        (PODS, Access("get", resource="pods", subresource="log"), False),
        (Rule(("*",), ("*",), ("*",)), Access("get", resource="pods", subresource="log"), True),
        (Rule(("get",), ("",), ("*/log",)), Access("get", "", "", "pods", "log"), True),
        (Rule(("get",), ("",), ("*/log",)), Access("get", resource="pods"), False),
        (Rule(("get",), ("",), ("pods",), ("a",)), Access("get", resource="pods"), False),
        (Rule(("get",), ("",), ("pods",), ("a",)), Access("get", resource="pods", name="a"), True),
        (Rule(("get",), urls=("/logs/*",)), Access("get", path="/logs/a"), True),
        (Rule(("get",), urls=("/logs/*",)), Access("get", path="/logs"), False),
        (Rule(("*",), ("*",), ("*",)), Access("get", path="/logs"), False),
    ],
)
def test_a_rule_allows(rule: Rule, access: Access, allowed: bool) -> None:
    assert rule.allows(access) is allowed


def test_what_is_not_covered_is_listed_by_resource() -> None:
    wanted = Rule(("get", "create"), ("", "apps"), ("pods",))
    assert describe(uncovered([wanted], [PODS])) == (
        '{APIGroups:[""], Resources:["pods"], Verbs:["create"]}\n'
        '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "create"]}'
    )
    assert uncovered([Rule(("get",), ("",), ("pods",), ("a",))], [PODS]) == []
    assert uncovered([PODS], [Rule(("*",), ("*",), ("*",))]) == []
    assert uncovered([Rule(("*",), ("",), ("pods",))], [PODS]) != []


def role(name: str, rules: list[Any], selects: str = "", **labels: str) -> tuple[str, Any]:
    body: dict[str, Any] = {"metadata": {"name": name, "labels": labels}, "rules": rules}
    if selects:
        body["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {selects: "yes"}}]}
    return name, body


def test_a_role_has_the_rules_of_those_that_it_aggregates_each_once() -> None:
    read, write = ({"verbs": [verb], "apiGroups": [""], "resources": ["pods"]} for verb in "rw")
    roles = dict(
        [role("all", [], "a"), role("b", [write, read], a="yes"), role("c", [read], a="yes")]
    )
    assert aggregate(roles) == {"all": [write, read]}
    roles["all"]["rules"] = [write, read]
    assert aggregate(roles) == {}


def test_the_default_admin_may_do_what_edit_and_view_may() -> None:
    roles = {each["metadata"]["name"]: each for each in default_policy(aggregated=True)}
    held = [str(rule) for rule in roles["admin"]["rules"]]
    for name in ("edit", "view"):
        assert roles[name]["rules"]
        assert all(str(rule) in held for rule in roles[name]["rules"]), name

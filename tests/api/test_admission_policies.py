"""ValidatingAdmissionPolicies: what they deny, warn about and ignore."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.cluster.writes import SITE_MANAGER, Actor
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from tests.api.conftest import Kube
from tests.api.objects import PODS, binding, node, pod
from tests.api.test_creation import CreationClient, do, play

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{ADMISSION}/validatingadmissionpolicies"
BINDINGS = f"{ADMISSION}/validatingadmissionpolicybindings"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
ANY_POD = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["pods"],
}
ALL = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
HAS_TEAM = "has(object.metadata.labels) && 'team' in object.metadata.labels"


def policy(name: str, *validations: Any, rule: Any = ANY_POD, **spec: Any) -> dict[str, Any]:
    """A policy with these expressions, or validations."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [
                {"expression": each} if isinstance(each, str) else each for each in validations
            ],
            **spec,
        },
    }


def bound(name: str, *actions: str, **spec: Any) -> dict[str, Any]:
    """A binding of the policy `name`, called `name`-all."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": f"{name}-all"},
        "spec": {"policyName": name, "validationActions": list(actions or ["Deny"]), **spec},
    }


@pytest.fixture
def enforce(kube: Kube) -> Any:
    """Creates a policy and a binding of it."""

    def create(*validations: Any, actions: Any = ("Deny",), to: Any = None, **spec: Any) -> None:
        name = spec.pop("name", "p")
        answer = kube.post(POLICIES, policy(name, *validations, **spec))
        assert answer.status_code == 201, answer.json()
        answer = kube.post(BINDINGS, bound(name, *actions, **(to or {})))
        assert answer.status_code == 201, answer.json()

    return create


def denial(answer: Any) -> str:
    """The message of a 422 after the name of the binding."""
    body = answer.json()
    assert (answer.status_code, body["reason"]) == (422, "Invalid"), body
    _, _, why = body["message"].partition(" denied request: ")
    return str(why)


def test_a_request_is_denied_with_the_status_of_kubernetes(kube: Kube, enforce: Any) -> None:
    enforce({"expression": HAS_TEAM, "message": "pods need a team"})
    answer = kube.post(PODS, pod("p1"))
    message = "ValidatingAdmissionPolicy 'p' with binding 'p-all' denied request: pods need a team"
    assert answer.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'pods "p1" is forbidden: {message}',
        "reason": "Invalid",
        "details": {"name": "p1", "kind": "pods", "causes": [{"message": message}]},
        "code": 422,
    }
    assert kube.get(f"{PODS}/p1").status_code == 404
    assert kube.post(PODS, pod("p1", labels={"team": "a"})).status_code == 201


@pytest.mark.parametrize(
    ("reason", "code"), [("Forbidden", 403), ("RequestEntityTooLarge", 413), ("Invalid", 422)]
)
def test_the_reason_of_a_validation_is_the_status(
    kube: Kube, enforce: Any, reason: str, code: int
) -> None:
    enforce({"expression": "false", "reason": reason})
    answer = kube.post(PODS, pod("p1"))
    assert (answer.status_code, answer.json()["reason"]) == (code, reason)
    assert answer.json()["message"].endswith("denied request: failed expression: false")


def test_messages_are_computed(kube: Kube, enforce: Any) -> None:
    text = "'at most 1, not ' + string(object.spec.containers.size())"
    enforce({"expression": "size(object.spec.containers) < 1", "messageExpression": text})
    assert denial(kube.post(PODS, pod("p1"))) == "at most 1, not 1"


def test_a_policy_without_a_binding_has_no_effect(kube: Kube) -> None:
    assert kube.post(POLICIES, policy("p", "false")).status_code == 201
    assert kube.post(PODS, pod("p1")).status_code == 201


def test_a_binding_has_its_effect_until_it_is_deleted(kube: Kube, enforce: Any) -> None:
    enforce("false")
    assert denial(kube.post(PODS, pod("p1"))) == "failed expression: false"
    assert kube.delete(f"{BINDINGS}/p-all").status_code == 200
    assert kube.post(PODS, pod("p1")).status_code == 201


def test_warnings_are_headers(kube: Kube, enforce: Any) -> None:
    enforce({"expression": HAS_TEAM, "message": "pods need a team"}, actions=["Warn", "Audit"])
    answer = kube.post(PODS, pod("p1"))
    assert answer.status_code == 201
    assert answer.headers["Warning"] == (
        "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-all': "
        'pods need a team"'
    )


def test_expressions_see_what_was_requested(kube: Kube, enforce: Any) -> None:
    enforce(
        "request.requestResource == request.resource && request.resource.resource == 'pods'",
        "request.requestKind == request.kind && request.kind.kind == 'Pod'",
    )
    assert kube.post(PODS, pod("p1")).status_code == 201


def test_what_a_policy_notes_for_an_audit_is_in_the_log(
    kube: Kube, enforce: Any, caplog: pytest.LogCaptureFixture
) -> None:
    annotations = [{"key": "image", "valueExpression": "string(object.spec.containers[0].image)"}]
    check = {"expression": HAS_TEAM, "message": "pods need a team"}
    enforce(check, auditAnnotations=annotations, actions=["Audit"])
    with caplog.at_level(logging.INFO, logger="kube-apiserver.audit"):
        assert kube.post(PODS, pod("p1")).status_code == 201
    (record,) = [each for each in caplog.records if each.name == "kube-apiserver.audit"]
    fields = dict(record.fields)  # type: ignore[attr-defined]
    noted = json.loads(fields.pop("validation.policy.admission.k8s.io/validation_failure"))
    assert noted == [
        {
            "message": "pods need a team",
            "policy": "p",
            "binding": "p-all",
            "expressionIndex": 0,
            "validationActions": ["Audit"],
        }
    ]
    assert fields["p/image"] == pod("p1")["spec"]["containers"][0]["image"]
    assert (fields["method"], fields["resource"], fields["namespace"]) == (
        "POST",
        "pods",
        "default",
    )
    assert fields["user"] and fields["cluster"]


def test_updates_and_deletions_see_the_old_object(kube: Kube, enforce: Any) -> None:
    kube.post(PODS, pod("p1", labels={"keep": "yes"}))
    enforce(
        "request.operation != 'DELETE' || !('keep' in oldObject.metadata.labels)",
        "request.operation != 'UPDATE' || object.metadata.labels == oldObject.metadata.labels",
        "request.operation != 'DELETE' || object == null",
        rule={**ANY_POD, "operations": ["UPDATE", "DELETE"]},
    )
    change = {"metadata": {"labels": {"a": "b"}}}
    assert "object.metadata.labels ==" in denial(kube.patch(f"{PODS}/p1", change))
    assert "'keep' in oldObject" in denial(kube.delete(f"{PODS}/p1"))
    assert "'keep' in oldObject" in denial(kube.delete(PODS))
    assert kube.patch(f"{PODS}/p1", {"metadata": {"annotations": {"a": "b"}}}).status_code == 200


def test_the_request_is_a_variable(kube: Kube, enforce: Any) -> None:
    enforce(
        {
            "expression": "false",
            "messageExpression": "[request.userInfo.username, request.operation, request.name, "
            "request.namespace, request.resource.resource, request.kind.kind, "
            "string(request.dryRun), string('system:masters' in request.userInfo.groups)]"
            ".join(' ')",
        }
    )
    expected = "alice CREATE p1 default pods Pod true true"
    assert denial(kube.post(f"{PODS}?dryRun=All", pod("p1"))) == expected


def test_the_namespace_is_a_variable(kube: Kube, enforce: Any) -> None:
    kube.patch("/api/v1/namespaces/default", {"metadata": {"labels": {"env": "prod"}}})
    enforce("namespaceObject.metadata.labels['env'] != 'prod'")
    assert "namespaceObject" in denial(kube.post(PODS, pod("p1")))


def test_what_the_user_may_do_is_a_variable(kube: Kube, enforce: Any) -> None:
    enforce(
        "authorizer.group('').resource('pods').namespace('default').check('delete').allowed()",
        "authorizer.requestResource.check('create').allowed()",
        "authorizer.path('/healthz').check('get').allowed()",
        "!authorizer.serviceAccount('default', 'x').group('').resource('pods')"
        ".check('impersonate').errored()",
    )
    assert kube.post(PODS, pod("p1")).status_code == 201


def test_users_of_pages_have_their_groups(kube: Kube, cluster: Cluster, enforce: Any) -> None:
    enforce(
        "'system:masters' in request.userInfo.groups",
        "authorizer.requestResource.check('create').allowed()",
    )
    cluster.refresh_from_db()
    created = store.create(
        cluster, kinds.POD, pod("p1"), namespace="default", actor=Actor("alice", "", SITE_MANAGER)
    )
    assert created["metadata"]["name"] == "p1"
    with pytest.raises(ApiError, match="system:masters"):
        store.create(
            cluster,
            kinds.POD,
            pod("p2"),
            namespace="default",
            actor=Actor("nobody", "", SITE_MANAGER),
        )


def test_variables_are_computed_once_and_build_on_each_other(kube: Kube, enforce: Any) -> None:
    enforce(
        "variables.few",
        variables=[
            {"name": "names", "expression": "object.spec.containers.map(c, c.name)"},
            {"name": "few", "expression": "variables.names.size() < 1"},
        ],
    )
    assert denial(kube.post(PODS, pod("p1"))) == "failed expression: variables.few"


def test_conditions_select_requests(kube: Kube, enforce: Any) -> None:
    enforce(
        "false",
        matchConditions=[
            {"name": "named", "expression": "object.metadata.name.startsWith('bad')"},
            {"name": "fails", "expression": "object.nothing.here == 1"},
        ],
    )
    # one that is false outweighs the error of another
    assert kube.post(PODS, pod("good")).status_code == 201
    expected = "expression 'object.nothing.here == 1' resulted in error: no such key: nothing"
    assert denial(kube.post(PODS, pod("bad"))) == expected


def test_errors_deny_unless_they_are_ignored(kube: Kube, enforce: Any) -> None:
    enforce("object.metadata.labels['a'] == 'b'", failurePolicy="Ignore", name="lenient")
    assert kube.post(PODS, pod("p1")).status_code == 201
    enforce("object.metadata.labels['a'] == 'b'", name="strict")
    answer = kube.post(PODS, pod("p2"))
    assert denial(answer) == (
        "expression 'object.metadata.labels['a'] == 'b'' resulted in error: no such key: labels"
    )
    assert "'strict' with binding 'strict-all'" in answer.json()["message"]


def test_an_expression_that_costs_too_much_is_an_error(kube: Kube, enforce: Any) -> None:
    many = "lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))"
    enforce(many)
    expected = f"expression '{many}' resulted in error: operation cancelled: "
    assert denial(kube.post(PODS, pod("p1"))).startswith(expected)


def test_variables_that_contain_each_other_are_not_compared_for_ever(
    kube: Kube, enforce: Any
) -> None:
    variables = [{"name": "v0", "expression": "[1, 2]"}]
    for number in range(60):
        inner = f"variables.v{number}"
        variables.append({"name": f"v{number + 1}", "expression": f"[{inner}, {inner}]"})
    enforce("variables.v60 == variables.v60", variables=variables)
    assert "operation cancelled: actual cost limit exceeded" in denial(kube.post(PODS, pod("p1")))


def test_selectors_and_rules_select_objects(kube: Kube, enforce: Any) -> None:
    for name, labels in (("prod", {"env": "prod"}), ("dev", {})):
        kube.post("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    enforce(
        "false",
        matchConstraints={
            "resourceRules": [{**ALL, "operations": ["CREATE"], "scope": "Namespaced"}],
            "excludeResourceRules": [{**ALL, "resources": ["configmaps"]}],
            "objectSelector": {"matchLabels": {"checked": "yes"}},
        },
        to={"matchResources": {"namespaceSelector": {"matchLabels": {"env": "prod"}}}},
    )
    checked = pod("p1", labels={"checked": "yes"})
    assert kube.post("/api/v1/namespaces/prod/pods", checked).status_code == 422
    assert kube.post("/api/v1/namespaces/prod/pods", pod("p1")).status_code == 201
    assert kube.post("/api/v1/namespaces/dev/pods", checked).status_code == 201
    spared = {"metadata": {"name": "c", "labels": {"checked": "yes"}}}
    assert kube.post("/api/v1/namespaces/prod/configmaps", spared).status_code == 201
    labelled = {**node("n1", checked="yes")}
    assert kube.post("/api/v1/nodes", labelled).status_code == 201


def test_policies_never_decide_about_policies(kube: Kube, enforce: Any) -> None:
    enforce("false", rule=ALL)
    assert kube.post(POLICIES, policy("other", "true")).status_code == 201
    assert kube.delete(f"{BINDINGS}/p-all").status_code == 200


def test_status_is_matched_as_a_subresource(kube: Kube, enforce: Any) -> None:
    kube.post("/api/v1/nodes", node("n1"))
    enforce("request.subResource != 'status'", rule={**ALL, "resources": ["nodes/status"]})
    assert kube.patch("/api/v1/nodes/n1", {"metadata": {"labels": {"a": "b"}}}).status_code == 200
    change = {"status": {"nodeInfo": {"machineID": "m"}}}
    assert kube.patch("/api/v1/nodes/n1/status", change).status_code == 422


def test_bindings_evictions_and_scales_are_objects_of_their_own(kube: Kube, enforce: Any) -> None:
    kube.post("/api/v1/nodes", node("n1"))
    kube.post(PODS, pod("p1"))
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": pod("x")["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    kube.post(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    enforce(
        "request.kind.kind != 'Binding' || object.target.name != 'n1'",
        "request.kind.kind != 'Eviction'",
        "request.kind.kind != 'Scale' || object.spec.replicas - oldObject.spec.replicas < 2",
        rule={**ALL, "resources": ["pods/*", "deployments/*"]},
    )
    assert "object.target" in denial(kube.post(f"{PODS}/p1/binding", binding("p1", "n1")))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p1"}}
    assert "Eviction" in denial(kube.post(f"{PODS}/p1/eviction", eviction))
    scale = f"{DEPLOYMENTS}/d/scale"
    assert "Scale" in denial(kube.patch(scale, {"spec": {"replicas": 3}}))
    assert kube.patch(scale, {"spec": {"replicas": 2}}).status_code == 200


def test_the_deletion_of_an_evicted_pod_is_part_of_its_eviction(kube: Kube, enforce: Any) -> None:
    kube.post(PODS, pod("p1"))
    enforce("false", rule={**ANY_POD, "operations": ["DELETE"]})
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p1"}}
    assert kube.post(f"{PODS}/p1/eviction", eviction).status_code == 201


LIMITS = {"apiVersion": "v1", "kind": "ConfigMap"}
REPLICAS = "!has(object.spec.replicas) || object.spec.replicas <= int(params.data.most)"


def deployment(name: str, replicas: int) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod("x")["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


@pytest.fixture
def limited(kube: Kube, enforce: Any) -> Any:
    rule = {**ALL, "apiGroups": ["apps"], "resources": ["deployments"]}

    def create(action: str = "Deny", **reference: Any) -> None:
        reference = reference or {"name": "limits"}
        to = {"paramRef": {**reference, "parameterNotFoundAction": action}}
        enforce(REPLICAS, rule=rule, paramKind=LIMITS, to=to)

    return create


def test_parameters_are_read_when_they_are_needed(kube: Kube, limited: Any) -> None:
    limited()
    missing = (
        "failed to configure binding: no params found for policy binding with `Deny` "
        "parameterNotFoundAction"
    )
    assert denial(kube.post(DEPLOYMENTS, deployment("d", 3))) == missing
    kube.post(CONFIG_MAPS, {"metadata": {"name": "limits"}, "data": {"most": "2"}})
    assert denial(kube.post(DEPLOYMENTS, deployment("d", 3))) == f"failed expression: {REPLICAS}"
    kube.patch(f"{CONFIG_MAPS}/limits", {"data": {"most": "3"}})
    assert kube.post(DEPLOYMENTS, deployment("d", 3)).status_code == 201


def test_missing_parameters_may_be_allowed(kube: Kube, limited: Any) -> None:
    limited("Allow")
    assert kube.post(DEPLOYMENTS, deployment("d", 3)).status_code == 201


def test_all_selected_parameters_count(kube: Kube, limited: Any) -> None:
    for name, most in (("a", "9"), ("b", "2"), ("c", "1")):
        labels = {} if name == "c" else {"limits": "yes"}
        metadata = {"name": name, "labels": labels}
        kube.post(CONFIG_MAPS, {"metadata": metadata, "data": {"most": most}})
    limited(selector={"matchLabels": {"limits": "yes"}})
    assert kube.post(DEPLOYMENTS, deployment("d", 2)).status_code == 201
    assert kube.post(DEPLOYMENTS, deployment("e", 3)).status_code == 422


def test_an_unknown_kind_of_parameters_denies(kube: Kube, enforce: Any) -> None:
    kind = {"apiVersion": "rules.example.com/v1", "kind": "Limit"}
    enforce("params.spec.x == 1", paramKind=kind)
    answer = kube.post(PODS, pod("p1"))
    assert denial(answer) == (
        "failed to configure policy: failed to find resource referenced by paramKind: "
        "'rules.example.com/v1, Kind=Limit'"
    )
    assert "ValidatingAdmissionPolicy 'p' denied" in answer.json()["message"]


def test_custom_resources_are_matched(kube: Kube, enforce: Any) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"plural": "widgets", "kind": "Widget"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": names,
            "scope": "Namespaced",
            "versions": [version],
        },
    }
    kube.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    rule = {**ALL, "apiGroups": ["example.com"], "resources": ["widgets"]}
    enforce("object.spec.size < 5", rule=rule)
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    path = "/apis/example.com/v1/namespaces/default/widgets"
    answer = kube.post(path, {**widget, "spec": {"size": 6}})
    assert denial(answer) == "failed expression: object.spec.size < 5"
    assert answer.json()["details"]["group"] == "example.com"
    assert kube.post(path, {**widget, "spec": {"size": 4}}).status_code == 201


def test_annotations_that_fail_deny(kube: Kube, enforce: Any) -> None:
    annotations = [{"key": "name", "valueExpression": "string(object.nothing.name)"}]
    enforce(auditAnnotations=annotations, actions=["Audit"])
    expected = "expression 'string(object.nothing.name)' resulted in error: no such key: nothing"
    assert denial(kube.post(PODS, pod("p1"))) == expected


@pytest.mark.django_db(transaction=True)
def test_controllers_obey_policies(kube: Kube, cluster: Cluster, enforce: Any) -> None:
    engines = Engines()
    engines.run(cluster.pk)
    enforce({"expression": HAS_TEAM, "message": "pods need a team"})
    kube.post(DEPLOYMENTS, deployment("d", 1))
    engines.run(cluster.pk)
    assert kube.get(PODS).json()["items"] == []
    events = kube.get("/api/v1/namespaces/default/events").json()["items"]
    told = [each["message"] for each in events if each["reason"] == "FailedCreate"]
    assert told and "denied request: pods need a team" in told[0]
    kube.delete(f"{BINDINGS}/p-all")
    change = {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}}
    kube.patch(f"{DEPLOYMENTS}/d", change)
    engines.run(cluster.pk)
    assert len(kube.get(PODS).json()["items"]) == 1


# what is refused when a policy is written


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("object.spec.hostNetwork", "must evaluate to bool but got dyn"),
        ("1 + 1", "must evaluate to bool but got int"),
        (
            "object.spec.a == && true",
            "compilation failed: ERROR: <input>:1:18: Syntax error: ",
        ),
        (
            "subject.a == 1",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'subject' "
            "(in container '')\n | subject.a == 1\n | ^",
        ),
        (
            "request.nothing == ''",
            "compilation failed: ERROR: <input>:1:8: undefined field 'nothing'\n"
            " | request.nothing == ''\n | .......^",
        ),
        (
            "params.a == 1",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'params'",
        ),
    ],
)
def test_expressions_that_do_not_compile_are_refused(kube: Kube, expression: str, why: str) -> None:
    answer = kube.post(POLICIES, policy("p", expression))
    assert answer.status_code == 422
    cause = answer.json()["details"]["causes"][0]
    assert cause["field"] == "spec.validations[0].expression"
    assert why in cause["message"]


def test_faults_of_a_policy_name_their_fields(kube: Kube) -> None:
    wrong = policy(
        "p",
        {"expression": "true", "message": "a\nb", "reason": "Because"},
        failurePolicy="Maybe",
        variables=[{"name": "in", "expression": "1"}],
        matchConditions=[{"name": "", "expression": "variables.a"}],
        auditAnnotations=[{"key": "k", "valueExpression": "1"}],
    )
    causes = kube.post(POLICIES, wrong).json()["details"]["causes"]
    assert [each["field"] for each in causes] == [
        "spec.failurePolicy",
        "spec.matchConditions[0].expression",
        "spec.matchConditions[0].name",
        "spec.variables[0].name",
        "spec.validations[0].message",
        "spec.validations[0].reason",
        "spec.auditAnnotations[0].valueExpression",
    ]
    assert causes[-1]["message"].endswith("must evaluate to one of [string null_type] but got int")


def test_faults_of_a_binding_name_their_fields(kube: Kube) -> None:
    wrong = bound(
        "p",
        "Deny",
        "Warn",
        paramRef={"name": "a", "selector": {}},
        matchResources={"matchPolicy": "Some"},
    )
    causes = kube.post(BINDINGS, wrong).json()["details"]["causes"]
    assert [each["field"] for each in causes] == [
        "spec.paramRef.name",
        "spec.paramRef.selector",
        "spec.paramRef.parameterNotFoundAction",
        "spec.matchResouces.matchPolicy",
        "spec.validationActions",
    ]


# the ways past the view


@pytest.mark.django_db(transaction=True)
def test_the_front_leaves_what_a_policy_may_concern_to_the_view(
    kube: Kube, cluster: Cluster
) -> None:
    front = CreationClient(kube)

    async def create(name: str) -> int:
        await front.post(PODS, pod(name))
        return front.passed_on

    async def scene() -> list[int]:
        before = await create("before")
        await do(lambda: kube.post(POLICIES, policy("p", "false")))
        await do(lambda: kube.post(BINDINGS, bound("p")))
        return [before, await create("after"), await create("again")]

    assert play(scene) == [0, 1, 2]


@pytest.mark.django_db(transaction=True)
def test_the_front_creates_what_no_policy_is_about(kube: Kube, cluster: Cluster) -> None:
    kube.post(POLICIES, policy("p", "false", rule={**ANY_POD, "resources": ["services"]}))
    kube.post(BINDINGS, bound("p"))
    front = CreationClient(kube)
    assert play(lambda: front.post(PODS, pod("p1")))[0] == 201
    assert front.passed_on == 0

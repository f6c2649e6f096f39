"""MutatingAdmissionPolicies: what they make of objects, and how they fail.

The messages are those that kube-apiserver 1.36 answers to the same requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.conftest import Kube
from tests.api.objects import PODS, pod
from tests.api.test_creation import CreationClient, do, play

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps", "pods"],
}
Mutate = Callable[..., Any]


def apply(expression: str) -> dict[str, Any]:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def json_patch(expression: str) -> dict[str, Any]:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def policy(name: str, *mutations: Any, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [RULE]},
            "mutations": list(mutations),
            "reinvocationPolicy": "Never",
            **spec,
        },
    }


@pytest.fixture
def mutate(kube: Kube) -> Mutate:
    """Creates a policy and a binding of it."""

    def create(*mutations: Any, name: str = "m", to: Any = None, **spec: Any) -> None:
        answer = kube.post(
            f"{ADMISSION}/mutatingadmissionpolicies", policy(name, *mutations, **spec)
        )
        assert answer.status_code == 201, answer.json()
        answer = kube.post(
            f"{ADMISSION}/mutatingadmissionpolicybindings",
            {"metadata": {"name": name}, "spec": {"policyName": name, **(to or {})}},
        )
        assert answer.status_code == 201, answer.json()

    return create


def config_map(name: str = "a", **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"x": "1"}, **more}


@pytest.mark.parametrize(
    ("mutation", "data"),
    [
        (apply('Object{data: {"y": object.data.x + "!"}}'), {"x": "1", "y": "1!"}),
        (apply('Object{data: {?"z": optional.none(), ?"x": optional.of("9")}}'), {"x": "9"}),
        (json_patch('[JSONPatch{op: "add", path: "/data/y", value: "1"}]'), {"x": "1", "y": "1"}),
        (
            json_patch(
                '[JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("a"), value: "1"}]'
            ),
            {"a": "1", "x": "1"},
        ),
        (
            json_patch('[JSONPatch{op: "move", from: "/data/x", path: "/data/v"}]'),
            {"v": "1"},
        ),
        (
            # a test that fails is a condition
            json_patch(
                '[JSONPatch{op: "test", path: "/data/x", value: "2"}, '
                'JSONPatch{op: "remove", path: "/data/x"}]'
            ),
            {"x": "1"},
        ),
    ],
)
def test_a_policy_changes_what_is_created(
    kube: Kube, mutate: Mutate, mutation: Any, data: Any
) -> None:
    mutate(mutation)
    answer = kube.post(CONFIG_MAPS, config_map())
    assert (answer.status_code, answer.json()["data"]) == (201, data)
    assert kube.get(f"{CONFIG_MAPS}/a").json()["data"] == data


def test_lists_are_merged_by_their_keys(kube: Kube, mutate: Mutate) -> None:
    mutate(
        apply(
            'Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: "proxy", '
            'image: "p", restartPolicy: "Always", env: [Object.spec.initContainers.env{name: "A", '
            'value: "B"}]}], containers: [Object.spec.containers{name: "c", image: "other"}]}}'
        )
    )
    spec = kube.post(PODS, pod("p")).json()["spec"]
    (proxy,), (container,) = spec["initContainers"], spec["containers"]
    assert (proxy["env"], proxy["restartPolicy"]) == ([{"name": "A", "value": "B"}], "Always")
    assert (container["image"], proxy["imagePullPolicy"]) == ("other", "Always")


def test_updates_are_changed_too_and_nobody_owns_it(kube: Kube, mutate: Mutate) -> None:
    kube.post(CONFIG_MAPS, config_map())
    mutate(apply('Object{data: {"y": "2"}}'))
    changed = kube.patch(f"{CONFIG_MAPS}/a", {"data": {"z": "3"}}).json()
    assert changed["data"] == {"x": "1", "y": "2", "z": "3"}
    owned = [each["fieldsV1"]["f:data"] for each in changed["metadata"]["managedFields"]]
    assert all("f:y" not in fields for fields in owned)


@pytest.mark.parametrize(
    ("mutation", "why"),
    [
        (
            apply('Object{spec: Object.spec{nodeSelector: {"a": "b"}}}'),
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps "
            "or structs: .spec.nodeSelector",
        ),
        (
            apply('Object{spec: Object.spec{containers: [Object.spec.containers{args: ["x"]}]}}'),
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps "
            "or structs: .spec.containers[0].args",
        ),
        (
            apply("Object{specx: 1}"),
            "error applying patch: failed to convert patch object to typed object: .specx: field "
            "not declared in schema",
        ),
        (
            apply('Object{metadata: Object.spec{labels: {"a": "b"}}}'),
            'type mismatch: unexpected type name "Object.spec", expected "Object.metadata", which '
            "matches field name path from root Object type",
        ),
        (
            json_patch('[JSONPatch{op: "replace", path: "/nope/x", value: 1}]'),
            "JSON Patch: replace operation does not apply: doc is missing path: /nope/x: missing "
            "value",
        ),
        (
            json_patch('[JSONPatch{op: "nope", path: "/x", value: 1}]'),
            "JSON Patch: Unexpected kind: nope",
        ),
        (
            apply("Object{data: object.nope}"),
            "expression 'Object{data: object.nope}' resulted in error: no such key: nope",
        ),
    ],
)
def test_a_mutation_that_fails_forbids_unless_it_may(
    kube: Kube, mutate: Mutate, mutation: Any, why: str
) -> None:
    mutate(mutation)
    answer = kube.post(PODS, pod("p"))
    body = answer.json()
    message = f"policy 'm' with binding 'm' denied request: {why}"
    assert (answer.status_code, body["reason"], body["message"]) == (403, "Invalid", message)
    change = {"spec": {"failurePolicy": "Ignore"}}
    kube.patch(f"{ADMISSION}/mutatingadmissionpolicies/m", change)
    assert kube.post(PODS, pod("p")).status_code == 201


def test_policies_are_invoked_again_if_they_ask_for_it(kube: Kube, mutate: Mutate) -> None:
    saw = 'Object{data: {"b": has(object.data.a) ? "saw a" : "no a"}}'
    mutate(apply(saw), name="b", reinvocationPolicy="IfNeeded")
    mutate(apply('Object{data: {"a": "1"}}'), name="c")
    assert kube.post(CONFIG_MAPS, config_map()).json()["data"]["b"] == "saw a"


def test_conditions_variables_and_parameters_have_their_effects(kube: Kube, mutate: Mutate) -> None:
    for name in ("one", "two"):
        body = {"metadata": {"name": name, "labels": {"p": "1"}}, "data": {name: name}}
        kube.post(CONFIG_MAPS, body)
    selector = {"selector": {"matchLabels": {"p": "1"}}, "parameterNotFoundAction": "Deny"}
    mutate(
        apply("Object{data: params.data}"),
        apply('Object{data: {"v": variables.name}}'),
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        variables=[{"name": "name", "expression": "object.metadata.name"}],
        matchConditions=[{"name": "c", "expression": "object.metadata.name != 'b'"}],
        to={"paramRef": selector},
    )
    assert kube.post(CONFIG_MAPS, config_map()).json()["data"] == {
        "one": "one",
        "two": "two",
        "v": "a",
        "x": "1",
    }
    assert kube.post(CONFIG_MAPS, config_map("b")).json()["data"] == {"x": "1"}


def test_missing_parameters_forbid(kube: Kube, mutate: Mutate) -> None:
    mutate(
        apply("Object{data: params.data}"),
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        to={"paramRef": {"name": "none", "parameterNotFoundAction": "Deny"}},
    )
    body = kube.post(CONFIG_MAPS, config_map()).json()
    assert (body["reason"], body["message"]) == (
        "Forbidden",
        "policy 'm' with binding 'm' denied request: failed to configure binding: no params found "
        "for policy binding with `Deny` parameterNotFoundAction",
    )


def test_what_a_policy_makes_is_validated(kube: Kube, mutate: Mutate) -> None:
    mutate(json_patch('[JSONPatch{op: "add", path: "/data", value: {"a b": "1"}}]'))
    answer = kube.post(CONFIG_MAPS, config_map())
    assert (answer.status_code, answer.json()["reason"]) == (422, "Invalid")


@pytest.mark.django_db(transaction=True)
def test_the_front_leaves_what_a_policy_may_change_to_the_view(kube: Kube, mutate: Mutate) -> None:
    front = CreationClient(kube)

    async def create() -> list[int]:
        before = await front.post(PODS, pod("p"))
        await do(lambda: mutate(apply('Object{metadata: Object.metadata{labels: {"a": "b"}}}')))
        after = await front.post(PODS, pod("q"))
        return [before[0], after[0], front.passed_on]

    # what is passed on is answered by the view
    assert play(create) == [201, 204, 1]


@pytest.mark.parametrize(
    ("mutations", "message"),
    [
        ([], "spec.mutations: Required value: mutations must contain at least one item"),
        (
            [apply('{"data": {"a": "b"}}')],
            'spec.mutations[0].applyConfiguration.expression: Invalid value: "{\\"data\\": '
            '{\\"a\\": \\"b\\"}}": must evaluate to Object but got map(string, '
            "map(string, string))",
        ),
        (
            [json_patch("[]")],
            'spec.mutations[0].jsonPatch.expression: Invalid value: "[]": must evaluate to '
            "list(JSONPatch) but got list(dyn)",
        ),
        (
            [apply("Objec{spec: 1}")],
            'spec.mutations[0].applyConfiguration.expression: Invalid value: "Objec{spec: 1}": '
            "compilation failed: ERROR: <input>:1:6: undeclared reference to 'Objec' (in container "
            "'')\n | Objec{spec: 1}\n | .....^",
        ),
        (
            [json_patch('[JSONPatch{op: 1, path: "/a"}]')],
            'spec.mutations[0].jsonPatch.expression: Invalid value: "[JSONPatch{op: 1, path: '
            '\\"/a\\"}]": compilation failed: ERROR: <input>:1:14: expected type of field \'op\' '
            "is 'string' but provided type is 'int'\n | [JSONPatch{op: 1, path: \"/a\"}]\n | "
            ".............^",
        ),
        (
            [{"patchType": "JSONPatch"}],
            "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is "
            "JSONPatch",
        ),
    ],
)
def test_invalid_policies_are_refused(kube: Kube, mutations: Any, message: str) -> None:
    answer = kube.post(f"{ADMISSION}/mutatingadmissionpolicies", policy("m", *mutations))
    about = 'MutatingAdmissionPolicy.admissionregistration.k8s.io "m" is invalid: '
    assert answer.json()["message"] == about + message


def test_only_mutating_policies_construct_values(kube: Kube) -> None:
    spec = policy("v")["spec"]
    del spec["mutations"], spec["reinvocationPolicy"]
    spec["validations"] = [{"expression": "Object{a: 1} == object"}]
    answer = kube.post(
        f"{ADMISSION}/validatingadmissionpolicies", {"metadata": {"name": "v"}, "spec": spec}
    )
    assert "undeclared reference to 'Object'" in answer.json()["message"]

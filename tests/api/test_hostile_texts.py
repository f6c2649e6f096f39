"""Deep, multiplying and long texts are refused wherever a user can send one, within a moment."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.api.kubernetes.protobuf import envelopes
from tests.api.conftest import Kube
from tests.stack.test_anonymous_requests import ADDRESSES

pytestmark = pytest.mark.django_db

#: Seconds of this thread's processor.
MOMENT = 4
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MAPS = "/api/v1/namespaces/default/configmaps"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
THINGS = "/apis/example.com/v1/namespaces/default/things"
APPLY = "application/apply-patch+yaml"
THING = '{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"},"spec":%s}'
FREE = '{"type":"object","x-kubernetes-preserve-unknown-fields":true}'
#: Between what is allowed and what the stack of Python holds, and far above both.
DEPTHS = (250, 450, 900, 10_000, 100_000)


def nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def multiplied(value: str) -> str:
    """Ten lines that stand for a billion values."""
    lines = ["a0: &a0 " + ("{k: v}" if "<<" in value else "[v]")]
    for number in range(1, 10):
        names = ", ".join([f"*a{number - 1}"] * 10)
        lines.append(f"a{number}: &a{number} " + value % names)
    return "\n".join(lines) + "\n"


ALIASES = {"aliases": multiplied("[%s]"), "merges": multiplied("{<<: [%s], k: v}")}
YAML = {**ALIASES, "lists": "[{a: " * 20_000, "indented": "- " * 5_000}


def definition(schema: str) -> str:
    """A definition of Things, whose spec has a schema."""
    return (
        '{"metadata":{"name":"things.example.com"},"spec":{"group":"example.com","scope":'
        '"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":'
        'true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":'
        f"{schema}}}}}}}}}]}}}}"
    )


def around(before: str, inner: str, after: str) -> Callable[[int], str]:
    return lambda depth: before * depth + inner + after * depth


SCHEMAS = {
    "properties": around('{"type":"object","properties":{"a":', FREE, "}}"),
    "items": around('{"type":"array","items":', FREE, "}"),
    "additionalProperties": around('{"type":"object","additionalProperties":', FREE, "}"),
    "not": around('{"not":', "{}", "}"),
    "allOf": around('{"allOf":[', "{}", "]}"),
    "default": lambda depth: f'{{"type":"object","default":{nested(depth)}}}',
    "enum": lambda depth: f'{{"type":"object","enum":[{nested(depth)}]}}',
}


@pytest.fixture
def things(kube: Kube) -> Kube:
    assert kube.post(CRDS, definition(FREE)).status_code == 201
    assert kube.post(THINGS, THING % "{}").status_code == 201
    return kube


def refused(answer: Any, *codes: int) -> str:
    """The message of a refusal."""
    assert answer.status_code in (codes or (400, 413, 422)), answer.content[:300]
    return str(answer.json()["message"])


@pytest.fixture(autouse=True)
def a_moment() -> Iterator[None]:
    start = time.thread_time()
    yield
    assert time.thread_time() - start < MOMENT


@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_objects_are_refused_in_every_form(things: Kube, depth: int) -> None:
    value = nested(depth)
    thing = THING % value
    steps = f'[{{"op":"add","path":"/spec/a","value":{value}}}]'
    answers = {
        "create": things.post(THINGS, thing),
        "create, YAML": things.post(THINGS, thing, content_type="application/yaml"),
        "unknown field": things.post(MAPS, f'{{"metadata":{{"name":"m"}},"other":{value}}}'),
        "same key": things.post(MAPS, f'{{"data":{{}},"data":{{}},"other":{value}}}'),
        "update": things.put(f"{THINGS}/t", thing),
        "merge patch": things.patch(f"{THINGS}/t", f'{{"spec":{value}}}'),
        "JSON patch": things.patch(f"{THINGS}/t", steps, "json-patch"),
        "strategic": things.patch(f"{MAPS}/m", f'{{"data":{value}}}', "strategic-merge-patch"),
        "apply": things.request(
            "PATCH",
            f"{THINGS}/t?fieldManager=m",
            thing,
            content_type=APPLY,
        ),
        "options": things.delete(f"{THINGS}/t", value),
        "review": things.post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", f'{{"spec":{value}}}'
        ),
        "fields": things.post(
            MAPS, f'{{"metadata":{{"name":"m","managedFields":[{{"fieldsV1":{value}}}]}}}}'
        ),
    }
    for answer in answers.values():
        message = refused(answer)
        assert "max depth" in message or "too deep" in message


@pytest.mark.parametrize("part", SCHEMAS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_schemas_are_refused(kube: Kube, part: str, depth: int) -> None:
    message = refused(kube.post(CRDS, definition(SCHEMAS[part](depth))), 400, 413)
    assert "max depth" in message or "too large" in message


@pytest.mark.parametrize("part", SCHEMAS)
def test_schemas_of_the_most_levels_have_an_answer(kube: Kube, part: str) -> None:
    """Each part of a schema has two or three levels of JSON."""
    for depth in (60, 90, 180):
        assert kube.post(CRDS, definition(SCHEMAS[part](depth))).status_code < 500


def test_steps_of_a_patch_do_not_build_what_cannot_be_sent(things: Kube) -> None:
    chain = [
        {"op": "add", "path": "/spec" + "/a" * 100 * step, "value": json.loads(nested(100))}
        for step in range(1, 30)
    ]
    doubling = [{"op": "add", "path": "/spec/a", "value": {}}] + [
        {"op": "copy", "from": "/spec", "path": "/spec" + "/a" * 2**power} for power in range(12)
    ]
    chain.insert(0, {"op": "add", "path": "/spec", "value": json.loads(nested(100))})
    for steps in (chain, doubling):
        refused(things.patch(f"{THINGS}/t", steps, "json-patch"), 422)


@pytest.mark.parametrize("text", YAML)
def test_multiplying_yaml_of_objects_is_refused(things: Kube, text: str) -> None:
    for answer in (
        things.post(THINGS, YAML[text], content_type="application/yaml"),
        things.request(
            "PATCH",
            f"{THINGS}/t?fieldManager=m",
            YAML[text],
            content_type=APPLY,
        ),
    ):
        refused(answer, 400)


def test_deep_protobuf_is_refused(kube: Kube) -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(120):
        deep = {"type": "array", "items": deep}
    body = {**json.loads(definition("{}")), "apiVersion": "apiextensions.k8s.io/v1"}
    body["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = deep
    raw = envelopes.encode({**body, "kind": "CustomResourceDefinition"})
    answer = kube.post(CRDS, raw, content_type=envelopes.MEDIA_TYPE)
    assert "not a message" in refused(answer, 400)


CONTROL = [
    address.replace("/lab", "/c1") for address in ADDRESSES if address.startswith("/api/v1/")
]


@pytest.mark.parametrize("depth", [900, 100_000])
def test_no_address_of_the_control_plane_fails_on_deep_json(
    kube: Kube, user: User, depth: int
) -> None:
    client, wrong = Client(), []
    client.force_login(user)
    for address in CONTROL:
        for method in ("POST", "PUT", "PATCH"):
            answer = client.generic(method, address, nested(depth), "application/json")
            if answer.status_code >= 500:
                wrong.append(f"{method} {address}: {answer.status_code}")
    assert wrong == []


CONFIGURATIONS = {
    **YAML,
    "deep JSON": nested(10_000),
    "long": "a: " + "[x, y]\nb: " * 200_000,
    "dates": "a: [" + "2026-01-01, " * 100_000 + "]",
}


@pytest.mark.parametrize("text", CONFIGURATIONS)
def test_hostile_configurations_and_scenarios_are_refused(
    kube: Kube, user: User, text: str
) -> None:
    client, written = Client(), CONFIGURATIONS[text]
    client.force_login(user)
    simulated = {"configuration": written, "feature_gates": {"GangScheduling": True}}
    for address, body in (
        ("/api/v1/clusters/c1/profiles", written),
        ("/api/v1/clusters/c1/profiles/check", written),
        ("/api/v1/clusters/c1/configurations/convert", written),
        ("/api/v1/clusters/c1/simulate", json.dumps(simulated)),
    ):
        kind = "application/json" if body is not written else "application/yaml"
        refused(client.generic("POST", address, body, kind))
    for page, fields in (
        ("/clusters/c1/new-profile", ("configuration",)),
        ("/clusters/c1/import", ("manifest",)),
        ("/clusters/c1/lab", ("objects", "configuration")),
        ("/scenarios", ("scenario", "configuration")),
    ):
        answer = client.post(page, dict.fromkeys(fields, written))
        assert answer.status_code in (200, 302, 400, 405, 413, 422), page


EXPRESSIONS = {
    "parentheses": "(" * 10_000 + "true" + ")" * 10_000,
    "negations": "!" * 10_000 + "true",
    "lists": "[" * 10_000 + "]" * 10_000 + " == []",
    "maps": "{1:" * 10_000 + "1" + "}" * 10_000 + " == {}",
    "conditions": "true ? " * 10_000 + "true" + " : true" * 10_000,
    "fields": "self" + ".a" * 10_000 + " == 1",
    "calls": "'a'" + ".trim()" * 10_000 + " == 'a'",
    "macros": "[1].all(x, " * 5_000 + "true" + ")" * 5_000,
    "long": "[" + "1," * 80_000 + "1].size() == 1",
    "sum": "+".join(["1"] * 40_000) + " == 1",
    "or": " || ".join(["true"] * 15_000),
}
MANY = ["[" + "1," * 4_000 + f"1].size() == {number}" for number in range(200)]


def ruled(rules: list[str]) -> str:
    given = [{"rule": rule} for rule in rules]
    return definition(
        json.dumps({"type": "object", "properties": {}, "x-kubernetes-validations": given})
    )


def policy(rules: list[str]) -> str:
    matched = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
    spec = {
        "matchConstraints": {"resourceRules": [matched]},
        "validations": [{"expression": rule} for rule in rules],
    }
    return json.dumps({"metadata": {"name": "p"}, "spec": spec})


def device_class(rules: list[str]) -> str:
    selectors = [{"cel": {"expression": rule}} for rule in rules]
    return json.dumps({"metadata": {"name": "c"}, "spec": {"selectors": selectors}})


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize(
    ("path", "form", "field"),
    [
        (CRDS, ruled, "x-kubernetes-validations[0].rule"),
        (POLICIES, policy, "spec.validations[0].expression"),
        (CLASSES, device_class, "spec.selectors[0].cel.expression"),
    ],
)
def test_deep_and_long_expressions_have_an_answer_that_names_them(
    kube: Kube, path: str, form: Callable[[list[str]], str], field: str, expression: str
) -> None:
    answer = kube.post(path, form([EXPRESSIONS[expression]]))
    if answer.status_code != 201:
        assert field in refused(answer, 422)


@pytest.mark.parametrize(("path", "form"), [(CRDS, ruled), (POLICIES, policy)])
def test_many_long_expressions_are_refused(
    kube: Kube, path: str, form: Callable[[list[str]], str]
) -> None:
    assert "take too long to compile" in refused(kube.post(path, form(MANY)), 422)


def test_rules_of_a_wide_schema_are_refused(kube: Kube) -> None:
    fields = {f"f{number}": {"type": "string"} for number in range(20_000)}
    schema = {
        "type": "object",
        "properties": fields,
        "x-kubernetes-validations": [{"rule": f"self.f1 != '{number}'"} for number in range(2_000)],
    }
    answer = kube.post(CRDS, definition(json.dumps(schema)))
    assert "take too long to compile" in refused(answer, 422)


@pytest.mark.parametrize(
    "text",
    [
        "a," * 20_000,
        "a in (" + "b," * 20_000 + "b)",
        "!" * 40_000,
        "a=" + "b" * 40_000,
        "(" * 40_000,
    ],
)
def test_long_selectors_have_an_answer(kube: Kube, text: str) -> None:
    for selector in ("labelSelector", "fieldSelector"):
        assert kube.get(f"/api/v1/pods?{selector}={text}").status_code in (200, 400)

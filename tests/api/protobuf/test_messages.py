"""The messages of Kubernetes, and the conversion of objects from and to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.api.kubernetes import resources
from apps.api.kubernetes.protobuf import envelopes
from apps.api.kubernetes.protobuf.schema import message_of, messages
from apps.cluster.schema import DEFINITIONS
from apps.cluster.schema.definitions import reference

Body = dict[str, Any]

DATA = Path(__file__).parents[1] / "data"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
TIME, MICRO_TIME = "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z"
#: Its Go types are in no program that the messages are extracted from.
WITHOUT_MESSAGES = {"apiregistration.k8s.io"}
#: Definitions that JSON has as a text, a number or any value.
PLAIN = {"Time", "MicroTime", "Quantity", "IntOrString", "FieldsV1", "RawExtension"}


def test_every_served_kind_has_a_message_with_the_fields_of_its_openapi_definition() -> None:
    compared: dict[str, str] = {}
    for resource in (*resources.ALL, *resources.REVIEWS):
        if resource.group in WITHOUT_MESSAGES:
            continue
        name = message_of(resource.api_version, resource.kind.name)
        assert name is not None
        if not resource.is_review:
            assert message_of(resource.api_version, f"{resource.kind.name}List") is not None
        compare(resource.definition, name, compared)
    assert len(compared) > 200


def compare(definition: str, name: str, compared: dict[str, str]) -> None:
    """The message has the fields of the definition, and they refer to the same messages."""
    if definition.rpartition(".")[2] in PLAIN or compared.get(definition) == name:
        return
    assert definition not in compared
    compared[definition] = name
    fields = json_fields(name)
    for key, schema in DEFINITIONS[definition].get("properties", {}).items():
        if key in ("kind", "apiVersion") and key not in fields:
            continue
        inner = schema.get("items") or schema.get("additionalProperties") or schema
        if target := reference(inner):
            compare(target, fields[key], compared)
        else:
            assert key in fields, f"{definition}.{key}"


def json_fields(name: str) -> dict[str, str]:
    """The fields of a message in JSON, and their types."""
    found: dict[str, str] = {}
    for field in messages()[name]:
        found |= json_fields(field.type) if field.inline else {field.json: field.type}
    return found


@pytest.mark.parametrize("path", sorted(DATA.glob("*.jsonl")), ids=lambda path: path.stem)
def test_recorded_objects_are_the_same_after_protobuf(path: Path) -> None:
    for body in recorded(path):
        assert comparable(envelopes.decode(envelopes.encode(body))) == comparable(body)


def recorded(path: Path) -> Iterator[Body]:
    """The objects, lists and errors in the recorded responses.

    Protobuf has no tables, no custom resources and no objects of groups without messages.
    """
    for line in path.read_text().splitlines():
        exchange = json.loads(line.replace("<time>", TIME).replace('"<port>"', "30080"))
        body = exchange.get("expect", {}).get("body")
        typed = isinstance(body, dict) and {"kind", "apiVersion"} <= body.keys()
        if not typed or body["kind"] == "Table" or "example.com" in body["apiVersion"]:
            continue
        if body["apiVersion"].partition("/")[0] not in WITHOUT_MESSAGES:
            yield body


def comparable(value: Any, *, nested: bool = False) -> Any:
    """Without what protobuf cannot tell: empty from absent, the type of objects in others."""
    if isinstance(value, list):
        return [comparable(each, nested=True) for each in value]
    if not isinstance(value, dict):
        return TIME if value == MICRO_TIME else value
    typed = nested and "metadata" in value
    kept = {
        key: comparable(each, nested=True)
        for key, each in value.items()
        if not (typed and key in ("kind", "apiVersion"))
    }
    return {key: each for key, each in kept.items() if each not in (None, {}, [])}


NAMES = st.text("abcxyz-äλ", min_size=1, max_size=8)
QUANTITIES = st.dictionaries(NAMES, st.sampled_from(["1", "500m", "1Gi", "0", "12e6"]))
LABELS = st.dictionaries(NAMES, NAMES)
INT32 = st.integers(-(2**31), 2**31 - 1)
CONTAINERS = st.fixed_dictionaries(
    {
        "name": NAMES,
        "resources": st.fixed_dictionaries({}, optional={"limits": QUANTITIES}),
    },
    optional={
        "env": st.lists(
            st.fixed_dictionaries(
                {"name": NAMES},
                optional={
                    "value": NAMES,
                    "valueFrom": st.just({"secretKeyRef": {"name": "s", "key": "k"}}),
                },
            ),
            min_size=1,
        ),
        "livenessProbe": st.builds(
            lambda port, seconds: {
                "httpGet": {"path": "/", "port": port},
                "initialDelaySeconds": seconds,
            },
            INT32 | NAMES,
            st.integers(1, 9),
        ),
        "securityContext": st.builds(lambda user: {"runAsUser": user}, st.integers(0, 2**63 - 1)),
    },
)
VOLUMES = st.sampled_from(
    [
        {"name": "e", "emptyDir": {}},
        {"name": "e", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "c", "configMap": {"name": "c", "optional": False}},
        {"name": "p", "persistentVolumeClaim": {"claimName": "c"}},
    ]
)
POD = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"name": NAMES, "creationTimestamp": st.just(TIME)}, optional={"labels": LABELS}
        ),
        "spec": st.fixed_dictionaries(
            {"containers": st.lists(CONTAINERS, min_size=1, max_size=3)},
            optional={
                "volumes": st.lists(VOLUMES, min_size=1, max_size=3),
                "priority": INT32,
                "enableServiceLinks": st.booleans(),
                "terminationGracePeriodSeconds": st.integers(0, 2**62),
            },
        ),
        "status": st.just(
            {
                "phase": "Pending",
                "conditions": [{"type": "A", "status": "True", "lastProbeTime": None}],
            }
        ),
    }
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(POD)
def test_pods_are_the_same_after_protobuf(pod: Body) -> None:
    body = {"apiVersion": "v1", "kind": "Pod", **pod}
    found = envelopes.decode(envelopes.encode(body))
    assert comparable(found) == comparable(body)
    # empty values that mean something are kept
    assert found["status"]["conditions"] == body["status"]["conditions"]
    assert found["spec"].get("volumes") == body["spec"].get("volumes")


@pytest.mark.parametrize(
    "body",
    [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "s"},
            "data": {"a": "AAEC/w=="},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {"name": "r"},
            "data": {"spec": {"template": {"$patch": "replace"}}},
            "revision": 3,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "r", "managedFields": [{"fieldsV1": {"f:rules": {}}}]},
            "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
        },
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "metadata": {},
            "spec": {"user": "u", "extra": {"scopes": ["a", "b"]}},
            "status": {"allowed": False},
        },
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "r"},
            "spec": {
                "group": "example.com",
                "names": {"plural": "rs", "kind": "R"},
                "scope": "Namespaced",
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "$ref": "#/a",
                                "default": {"a": [1, None]},
                                "maximum": 4,
                                "properties": {
                                    "a": {"x-kubernetes-int-or-string": True},
                                    "b": {"items": {"minimum": 0.5}},
                                    "c": {"additionalProperties": {"type": "string"}},
                                    "d": {"additionalProperties": True},
                                },
                            }
                        },
                        "subresources": {"status": {}},
                    }
                ],
            },
        },
    ],
    ids=lambda body: str(body["kind"]),
)
def test_values_with_forms_of_their_own_are_the_same_after_protobuf(body: Body) -> None:
    assert envelopes.decode(envelopes.encode(body)) == body


def test_kinds_of_other_groups_have_no_message() -> None:
    assert envelopes.has_message("batch/v1", "Job")
    assert not envelopes.has_message("batch.volcano.sh/v1", "Job")
    assert not envelopes.has_message("batch/v9", "Job")
    assert not envelopes.has_message("v1", "PodSpec")
    assert envelopes.has_message("example.com/v1", "DeleteOptions")

"""Conversion webhooks: what they are asked, what they may change, and what works without them.

`make truth` compares many more requests with kube-apiserver's answers.
"""

from __future__ import annotations

import asyncio
import copy
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from apps.administration.clusters import manifests
from apps.cluster.manifests.places import ManifestError
from apps.cluster.models import Cluster
from apps.cluster.writes import SITE_MANAGER, Actor
from apps.scheduler.outgoing.rules import OutgoingRules
from tests.api.asgi import request_stream
from tests.api.conftest import Kube
from tests.api.webhook_server import WebhookServer

GROUP = "conv.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD = f"{CRDS}/doors.{GROUP}"
V1, V2 = (f"/apis/{GROUP}/{version}/namespaces/default/doors" for version in ("v1", "v2"))

pytestmark = pytest.mark.django_db(transaction=True)


def definition(client: dict[str, Any], storage: str = "v1", **conversion: Any) -> dict[str, Any]:
    """Version v1 has width and height, v2 has both as one text."""
    number, text = {"type": "integer"}, {"type": "string"}
    old = {"height": number, "color": {**text, "default": "white"}, "wood": text}
    new = {"color": text, "wood": {**text, "default": "oak"}}
    fields = (("v1", "width", {"width": number, **old}), ("v2", "size", {"size": text, **new}))
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"doors.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"plural": "doors", "kind": "Door"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == storage,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object", "properties": properties}},
                        }
                    },
                    "selectableFields": [{"jsonPath": f".spec.{first}"}],
                    "additionalPrinterColumns": [
                        {"name": "Is", "type": "string", "jsonPath": f".spec.{first}"}
                    ],
                }
                for version, first, properties in fields
            ],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": client,
                    "conversionReviewVersions": ["v1"],
                    **conversion,
                },
            },
        },
    }


def door(version: str, name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, **spec.pop("metadata", {})}
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Door",
        "metadata": metadata,
        "spec": spec,
    }


def convert(request: dict[str, Any]) -> dict[str, Any]:
    objects = copy.deepcopy(request["objects"])
    for body in objects:
        body["apiVersion"], spec = request["desiredAPIVersion"], body["spec"]
        if "size" in spec:
            spec["width"], spec["height"] = map(int, spec.pop("size").split("x"))
        elif "width" in spec:
            spec["size"] = f"{spec.pop('width')}x{spec.pop('height', 0)}"
    return {"convertedObjects": objects, "result": {"status": "Success"}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebhookServer]:
    server = WebhookServer(tmp_path)
    server.answers("/convert", convert)
    yield server
    server.close()


@pytest.fixture
def doors(kube: Kube, server: WebhookServer) -> Kube:
    """A cluster with one door in each version."""
    assert kube.post(CRDS, definition(server.client("/convert"))).status_code == 201
    assert kube.post(V1, door("v1", "a", width=1, height=2)).status_code == 201
    assert kube.post(V2, door("v2", "b", size="3x4")).status_code == 201
    server.take()
    return kube


def redefine(kube: Kube, body: dict[str, Any]) -> None:
    version = kube.get(CRD).json()["metadata"]["resourceVersion"]
    body["metadata"]["resourceVersion"] = version
    answer = kube.put(CRD, body)
    assert answer.status_code == 200, answer.json()


def spec(answer: Any) -> Any:
    assert answer.status_code in (200, 201), answer.json()
    return answer.json()["spec"]


def test_objects_are_stored_in_one_version_and_read_in_both(doors: Kube) -> None:
    a = {"width": 1, "height": 2, "color": "white"}
    b = {"width": 3, "height": 4, "color": "white", "wood": "oak"}
    assert [spec(doors.get(f"{V1}/{name}")) for name in "ab"] == [a, b]
    # defaults are those of the version in which an object is written, and then stored
    a2 = {"size": "1x2", "color": "white"}
    b2 = {"size": "3x4", "color": "white", "wood": "oak"}
    assert [spec(doors.get(f"{V2}/{name}")) for name in "ab"] == [a2, b2]
    listed = doors.get(V2).json()
    assert [each["spec"] for each in listed["items"]] == [a2, b2]
    assert {each["apiVersion"] for each in listed["items"]} == {f"{GROUP}/v2"}
    table = doors.get(V2, headers={"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
    assert [row["cells"] for row in table.json()["rows"]] == [["a", "1x2"], ["b", "3x4"]]


def test_a_webhook_is_sent_the_objects_of_other_versions(
    doors: Kube, server: WebhookServer
) -> None:
    doors.get(f"{V1}/a")
    assert server.take() == []
    doors.get(V2)
    ((_, request),) = server.take()
    assert request["desiredAPIVersion"] == f"{GROUP}/v2"
    assert [each["metadata"]["name"] for each in request["objects"]] == ["a", "b"]
    assert {each["apiVersion"] for each in request["objects"]} == {f"{GROUP}/v1"}
    doors.post(V2, door("v2", "c", size="5x6"))
    (_, sent), *_ = server.take()
    assert sent["desiredAPIVersion"] == f"{GROUP}/v1"
    assert sent["objects"][0]["spec"] == {"size": "5x6", "wood": "oak"}
    assert "resourceVersion" not in sent["objects"][0]["metadata"]


def test_selectors_are_about_the_version_of_the_request(doors: Kube) -> None:
    def names(path: str) -> list[str]:
        return [each["metadata"]["name"] for each in doors.get(path).json()["items"]]

    assert names(f"{V2}?fieldSelector=spec.size=3x4") == ["b"]
    assert names(f"{V1}?fieldSelector=spec.width=1") == ["a"]
    first = doors.get(f"{V2}?limit=1").json()
    rest = doors.get(f"{V2}?limit=1&continue={first['metadata']['continue']}").json()
    assert [each["spec"]["size"] for each in first["items"] + rest["items"]] == ["1x2", "3x4"]


def test_a_watch_sends_the_version_of_its_path(doors: Kube) -> None:
    path = f"{doors.root}{V2}?watch=1&timeoutSeconds=1"
    _, _, raw = asyncio.run(request_stream(path, doors.headers))
    events = [json.loads(line) for line in raw.splitlines()]
    assert [event["object"]["spec"]["size"] for event in events] == ["1x2", "3x4"]


def test_changes_are_converted_and_validated_in_the_version_of_the_request(doors: Kube) -> None:
    changed = doors.patch(f"{V2}/a", {"spec": {"size": "7x8"}})
    assert spec(changed)["size"] == "7x8"
    assert spec(doors.get(f"{V1}/a"))["width"] == 7
    assert doors.patch(f"{V2}/a", {"spec": {"size": 5}}).status_code == 422
    version = changed.json()["metadata"]["resourceVersion"]
    same = doors.patch(f"{V2}/a", {"spec": {"size": "7x8"}}).json()
    assert same["metadata"]["resourceVersion"] == version
    dry = doors.patch(f"{V2}/a?dryRun=All", {"spec": {"size": "9x9"}})
    assert (spec(dry)["size"], spec(doors.get(f"{V1}/a"))["width"]) == ("9x9", 7)
    assert doors.delete(f"{V2}/a").status_code == 200


def test_managers_own_fields_in_their_version(doors: Kube) -> None:
    def apply(path: str, version: str, manager: str, **fields: Any) -> Any:
        return doors.request(
            "PATCH",
            f"{path}/s?fieldManager={manager}",
            door(version, "s", **fields),
            content_type="application/apply-patch+yaml",
        )

    assert apply(V1, "v1", "one", width=1, height=1).status_code == 201
    conflict = apply(V2, "v2", "two", size="2x1")
    assert conflict.json()["message"] == (
        'Apply failed with 1 conflict: conflict with "one": .spec.width'
    )
    assert apply(V2, "v2", "two", size="1x1").status_code == 200
    # a client that goes on in another version gives nothing up
    assert spec(apply(V2, "v2", "one", size="1x1"))["size"] == "1x1"
    owned = doors.get(f"{V1}/s").json()["metadata"]["managedFields"]
    assert {(each["manager"], each["apiVersion"]) for each in owned} == {
        ("one", f"{GROUP}/v2"),
        ("two", f"{GROUP}/v2"),
    }


def test_without_the_webhook_the_stored_version_works(doors: Kube, server: WebhookServer) -> None:
    server.answers("/convert", lambda request: {"result": {"status": "No", "message": "broken"}})
    message = f"conversion webhook for {GROUP}/v1, Kind=Door failed: broken"
    for answer in (doors.get(f"{V2}/a"), doors.get(V2), doors.patch(f"{V2}/a", {"spec": {}})):
        assert (answer.status_code, answer.json()["message"]) == (500, message)
        assert "reason" not in answer.json()
    assert doors.post(V2, door("v2", "c", size="1x1")).status_code == 500
    assert doors.get(f"{V1}/c").status_code == 404
    assert spec(doors.patch(f"{V1}/a", {"spec": {"width": 9}}))["width"] == 9
    assert len(doors.get(V1).json()["items"]) == 2
    _, _, raw = asyncio.run(
        request_stream(f"{doors.root}{V2}?watch=1&timeoutSeconds=1", doors.headers)
    )
    (event,) = [json.loads(line) for line in raw.splitlines()]
    assert (event["type"], event["object"]["message"]) == ("ERROR", message)


def test_of_the_metadata_only_labels_and_annotations_change(
    doors: Kube, server: WebhookServer
) -> None:
    def with_metadata(**fields: Any) -> None:
        def answer(request: dict[str, Any]) -> dict[str, Any]:
            response = convert(request)
            for body in response["convertedObjects"]:
                body["metadata"] |= fields
            return response

        server.answers("/convert", answer)

    before = doors.get(f"{V1}/a").json()["metadata"]
    with_metadata(labels={"x": "y"}, finalizers=["a/b"], generation=7, ownerReferences=[{}])
    assert doors.get(f"{V2}/a").json()["metadata"] == {**before, "labels": {"x": "y"}}
    about = f"conversion webhook for {GROUP}/v1, Kind=Door returned invalid"
    for fields, why in (
        ({"name": "z"}, "object: must have the same name: a != z"),
        ({"labels": "x"}, "metadata: invalid metadata.labels of type string in converted object"),
        (
            {"labels": {"x": 1}},
            "metadata: metadata.labels[x] must be a string, but is int64 in converted object",
        ),
    ):
        with_metadata(**fields)
        assert doors.get(f"{V2}/a").json()["message"] == f"{about} {why}"


def test_no_lock_is_held_while_a_webhook_is_asked(doors: Kube, server: WebhookServer) -> None:
    """Another client writes meanwhile: to the same cluster, and to the same object."""
    others: list[int] = []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if not others:
            others.append(0)
            thread = threading.Thread(target=write)
            thread.start()
            thread.join(20)
            assert not thread.is_alive()
        return convert(request)

    def write() -> None:
        other = Kube(doors.headers["authorization"].removeprefix("Bearer "), "c1")
        body = {"metadata": {"name": "m"}, "data": {"x": "1"}}
        others[0] = other.post("/api/v1/namespaces/default/configmaps", body).status_code
        connection.close()

    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "9"}}}
    assert doors.post("/api/v1/namespaces/default/resourcequotas", quota).status_code == 201
    server.answers("/convert", answer)
    assert spec(doors.patch(f"{V2}/a", {"spec": {"size": "6x6"}}))["size"] == "6x6"
    assert others == [201]


def test_a_version_stays_as_long_as_objects_may_be_stored_in_it(
    doors: Kube, server: WebhookServer
) -> None:
    body = definition(server.client("/convert"), storage="v2")
    redefine(doors, body)
    assert doors.get(CRD).json()["status"]["storedVersions"] == ["v1", "v2"]
    server.take()
    assert [each["spec"]["size"] for each in doors.get(V2).json()["items"]] == ["1x2", "3x4"]
    assert len(server.take()) == 1
    # a write without a change stores it anew
    doors.patch(f"{V2}/a", {})
    server.take()
    doors.get(f"{V2}/a")
    assert server.take() == []
    body["spec"]["versions"] = body["spec"]["versions"][1:]
    body["metadata"]["resourceVersion"] = doors.get(CRD).json()["metadata"]["resourceVersion"]
    refused = doors.put(CRD, body)
    assert refused.status_code == 422
    assert 'status.storedVersions[0]: Invalid value: "v1"' in refused.json()["message"]
    stored = {"status": {"storedVersions": ["v2"]}}
    assert doors.patch(f"{CRD}/status", stored).status_code == 200
    redefine(doors, body)


def test_a_policy_sees_the_version_of_its_rule(doors: Kube) -> None:
    admission = "/apis/admissionregistration.k8s.io/v1"
    rule = {
        "apiGroups": [GROUP],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["doors"],
    }
    policy = {
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "object.spec.width < 5"}],
        },
    }
    assert doors.post(f"{admission}/validatingadmissionpolicies", policy).status_code == 201
    binding = {
        "metadata": {"name": "p"},
        "spec": {"policyName": "p", "validationActions": ["Deny"]},
    }
    doors.post(f"{admission}/validatingadmissionpolicybindings", binding)
    assert doors.post(V2, door("v2", "c", size="4x9")).status_code == 201
    assert doors.post(V2, door("v2", "d", size="5x9")).status_code == 422


def test_an_import_does_not_wait_for_a_webhook(doors: Kube, cluster: Cluster) -> None:
    actor = Actor("alice", manager=SITE_MANAGER)
    manifests.import_yaml(cluster, json.dumps(door("v1", "c", width=1)), actor=actor)
    with pytest.raises(ManifestError, match="in the version that is stored"):
        manifests.import_yaml(cluster, json.dumps(door("v2", "d", size="1x1")), actor=actor)


def test_a_site_calls_only_addresses_that_it_allows(doors: Kube, settings: Any) -> None:
    settings.OUTGOING = OutgoingRules(internal=False)
    message = doors.get(f"{V2}/a").json()["message"]
    assert "this site does not send requests to this address" in message

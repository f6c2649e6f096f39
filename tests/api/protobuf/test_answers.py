"""Responses in Kubernetes protobuf: which format a client gets, lists, watches, a scheduler."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from apps.api.kubernetes import resources
from apps.api.kubernetes.protobuf import envelopes
from apps.api.kubernetes.protobuf.classes import message_class
from apps.api.kubernetes.protobuf.schema import META
from tests.api.asgi import request_stream
from tests.api.conftest import Kube
from tests.api.objects import NODES, PODS, node, pod

Body = dict[str, Any]

PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = "as=Table;v=v1;g=meta.k8s.io"
METADATA = "as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
#: What client-go sends if its content type is protobuf.
SCHEDULER = {"accept": f"{PROTOBUF}, */*"}


def read(answer: Any) -> Body:
    """The object in a protobuf response."""
    assert answer.headers["Content-Type"] == PROTOBUF, answer.headers
    raw = b"".join(answer) if answer.streaming else answer.content
    return envelopes.decode(raw)


@pytest.mark.django_db
def test_the_format_is_negotiated(kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    formats = {
        "": "application/json",
        "*/*": "application/json",
        PROTOBUF: PROTOBUF,
        f"{PROTOBUF}, */*": PROTOBUF,
        f"*/*, {PROTOBUF}": PROTOBUF,
        f"application/*, {PROTOBUF}": PROTOBUF,
        f"application/json, {PROTOBUF}": "application/json",
        f"text/html, {PROTOBUF}, application/json": PROTOBUF,
        f"application/json;q=0.5, {PROTOBUF};q=0.9": PROTOBUF,
        f"{PROTOBUF};q=0.1, application/yaml;q=0.2": "application/yaml",
        f"{PROTOBUF};{TABLE}, application/json;{TABLE}": "application/json",
        f"{PROTOBUF};{TABLE}, {PROTOBUF}": PROTOBUF,
        f"{PROTOBUF};{METADATA}": PROTOBUF,
    }
    for accept, content_type in formats.items():
        answer = kube.get(f"{PODS}/p1", headers={"accept": accept})
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, content_type), accept
    only = "only the following media types are accepted: application/json, application/yaml, "
    for accept, message in (
        (f"{PROTOBUF};{TABLE}", only + PROTOBUF),
        ("image/png", "406: Not Acceptable"),
        ("application/*", "406: Not Acceptable"),
        ("application/json;stream=no", only + PROTOBUF),
    ):
        answer = kube.get(f"{PODS}/p1", headers={"accept": accept})
        assert answer.status_code == 406
        assert answer.json()["message"].startswith(message)


@pytest.mark.django_db
def test_objects_lists_errors_and_discovery_equal_those_in_json(kube: Kube) -> None:
    kube.post(NODES, node("n1"))
    kube.post(PODS, pod("p1"))
    paths = [f"{PODS}/p1", PODS, "/api/v1/nodes?limit=1", f"{PODS}/none", "/apis", "/api/v1"]
    for resource in filter(lambda each: each.has_message, resources.ALL):
        root = f"/apis/{resource.group}" if resource.group else "/api"
        paths.append(f"{root}/{resource.version}/{resource.plural}")
    for path in paths:
        answer = kube.get(path, headers={"accept": f"{PROTOBUF},application/json"})
        plain = kube.get(path)
        assert answer.status_code == plain.status_code
        found, expected = read(answer), plain.json()
        assert found["kind"] == expected["kind"]
        for key in ("items", "resources", "groups"):
            assert _names(found, key) == _names(expected, key), path
        assert found.get("message") == expected.get("message")
        assert found.get("spec") == expected.get("spec")
    only_metadata = {"accept": f"{PROTOBUF};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    listed = read(kube.get(PODS, headers=only_metadata))
    assert listed["kind"] == "PartialObjectMetadataList"
    assert [set(item) for item in listed["items"]] == [{"metadata"}]
    # what is no object stays JSON, and a kind without a message
    services = "/apis/apiregistration.k8s.io/v1/apiservices"
    listed = kube.get(services, headers={"accept": f"{PROTOBUF},application/json"}).json()
    assert "v1.apps" in _names(listed, "items")
    assert kube.get(services, headers={"accept": PROTOBUF}).status_code == 406
    version = kube.get("/version", headers={"accept": PROTOBUF})
    assert version.json()["major"] == "1"


def _names(body: Body, key: str) -> list[str]:
    return [
        each.get("name") or each.get("metadata", {}).get("name") for each in body.get(key) or ()
    ]


def test_a_large_list_is_sent_in_pieces() -> None:
    pods = [{"metadata": {"name": f"p{i}", "annotations": {"a": "x" * 500}}} for i in range(4000)]
    envelope = {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "7", "continue": "next"},
        "items": [],
    }
    pieces = list(envelopes.list_pieces(envelope, iter(pods), 128 * 1024))
    assert len(pieces) > 10
    assert max(map(len, pieces)) < 129 * 1024
    assert envelopes.decode(b"".join(pieces)) == {**envelope, "items": pods}


def frames(raw: bytes) -> Iterator[tuple[str, Body]]:
    """The events of a watch."""
    while raw:
        size = int.from_bytes(raw[:4], "big")
        event: Any = message_class(f"{META}v1.WatchEvent").FromString(raw[4 : 4 + size])
        yield event.type, envelopes.decode(event.object.raw)
        raw = raw[4 + size :]


def watched(kube: Kube, path: str, accept: str) -> list[tuple[str, Body]]:
    """The events of a watch until its timeout."""
    answer = asyncio.run(
        request_stream(
            f"{kube.root}{path}?watch=1&allowWatchBookmarks=true&sendInitialEvents=true"
            "&resourceVersionMatch=NotOlderThan&timeoutSeconds=1",
            {**kube.headers, "accept": accept},
        )
    )
    assert answer[0] == 200, answer
    assert answer[1]["content-type"] == f"{PROTOBUF};stream=watch"
    return list(frames(answer[2]))


@pytest.mark.django_db(transaction=True)
def test_a_watch_sends_a_frame_for_each_event(kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    (first, added), (last, bookmark) = watched(kube, PODS, SCHEDULER["accept"])
    assert (first, last) == ("ADDED", "BOOKMARK")
    assert added["spec"] == kube.get(f"{PODS}/p1").json()["spec"]
    assert bookmark["kind"] == "Pod"
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    (_, partial), _ = watched(kube, PODS, f"{PROTOBUF};{METADATA}")
    assert (partial["kind"], partial["metadata"]["name"]) == ("PartialObjectMetadata", "p1")


@pytest.mark.django_db
def test_the_requests_of_a_scheduler_are_answered(kube: Kube) -> None:
    """The writes of an unmodified kube-scheduler with a pod that fits and one that preempts."""
    kube.post(NODES, node("n1"))
    fits = kube.post(PODS, pod("fits"), headers=SCHEDULER)
    uid = read(fits)["metadata"]["uid"]
    meta = {"name": "fits", "namespace": "default", "uid": uid}
    target = {"kind": "Node", "name": "n1"}
    status = send(kube, f"{PODS}/fits/binding", "v1", "Binding", metadata=meta, target=target)
    assert (status["kind"], status["status"]) == ("Status", "Success")
    event = send(
        kube,
        "/apis/events.k8s.io/v1/namespaces/default/events",
        "events.k8s.io/v1",
        "Event",
        metadata={"name": "fits.18e9fa6a0ad76d0b", "namespace": "default"},
        eventTime="2026-11-21T06:07:39.839210Z",
        reportingController="default-scheduler",
        reportingInstance="default-scheduler-vm",
        action="Binding",
        reason="Scheduled",
        regarding={"kind": "Pod", "namespace": "default", "name": "fits", "uid": uid},
        note="Successfully assigned default/fits to n1",
        type="Normal",
    )
    assert event["eventTime"] == "2026-11-21T06:07:39.839210Z"
    lease = send(
        kube,
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
        "coordination.k8s.io/v1",
        "Lease",
        metadata={"name": "kube-scheduler"},
        spec={"holderIdentity": "vm", "renewTime": "2026-11-21T06:07:39.000001Z"},
    )
    assert lease["spec"]["renewTime"] == "2026-11-21T06:07:39.000001Z"
    disrupted = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    patched = kube.patch(
        f"{PODS}/fits/status",
        {"status": {"conditions": [{**disrupted, "lastProbeTime": None}]}},
        "strategic-merge-patch",
        headers=SCHEDULER,
    )
    conditions = read(patched)["status"]["conditions"]
    assert any(disrupted.items() <= condition.items() for condition in conditions)
    options = envelopes.encode({"apiVersion": "v1", "kind": "DeleteOptions"})
    deleted = kube.delete(f"{PODS}/fits", options, content_type=PROTOBUF, headers=SCHEDULER)
    assert read(deleted)["metadata"]["name"] == "fits"


@pytest.mark.django_db
def test_volumes_and_claims_are_bound_with_protobuf(kube: Kube) -> None:
    claim = send(
        kube,
        "/api/v1/namespaces/default/persistentvolumeclaims",
        "v1",
        "PersistentVolumeClaim",
        metadata={"name": "c"},
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    )
    volume = send(
        kube,
        "/api/v1/persistentvolumes",
        "v1",
        "PersistentVolume",
        metadata={"name": "v"},
        spec={
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/tmp/v"},
        },
    )
    volume["spec"]["claimRef"] = {
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": "c",
        "uid": claim["metadata"]["uid"],
    }
    path = "/api/v1/persistentvolumes/v"
    raw = envelopes.encode(volume)
    answer = kube.put(path, raw, content_type=PROTOBUF, headers=SCHEDULER)
    assert answer.status_code == 200, read(answer)
    assert kube.get(path).json()["spec"]["claimRef"]["name"] == "c"


def send(kube: Kube, path: str, api_version: str, kind: str, **body: Any) -> Body:
    """POST an object, and return the response."""
    raw = envelopes.encode({"apiVersion": api_version, "kind": kind, **body})
    answer = kube.post(path, raw, content_type=PROTOBUF, headers=SCHEDULER)
    found = read(answer)
    assert answer.status_code == 201, found
    return found


def fields_of(message: bytes) -> dict[int, list[Any]]:
    """The fields of any message on the wire: number -> values, messages and texts as bytes."""
    found: dict[int, list[Any]] = {}
    place = 0

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while place < len(message):
        number, wire_type = divmod(varint(), 8)
        if wire_type == 2:
            size = varint()
            found.setdefault(number, []).append(message[place : place + size])
            place += size
        elif wire_type == 1:
            place += 8
        else:
            found.setdefault(number, []).append(varint())
    return found


def test_the_swagger_document_is_also_a_message(kube: Kube) -> None:
    path = "/openapi/v2"
    asked = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    answer = kube.get(path, headers={"accept": f"{asked}, application/json"})
    assert answer["Content-Type"] == asked.replace("@", ".")
    plain = kube.get(path).json()
    document = fields_of(answer.content)
    assert document[1] == [b"2.0"]

    def named(message: bytes, number: int) -> dict[str, bytes]:
        pairs = (fields_of(each) for each in fields_of(message).get(number, ()))
        return {pair[1][0].decode(): pair.get(2, [b""])[0] for pair in pairs}

    paths, definitions = named(document[8][0], 2), named(document[9][0], 1)
    assert paths.keys() == plain["paths"].keys()
    assert definitions.keys() == plain["definitions"].keys()
    pod_path = fields_of(paths["/api/v1/namespaces/{namespace}/pods/{name}"])
    patch = fields_of(pod_path[8][0])
    extensions = named(pod_path[8][0], 13)
    assert fields_of(extensions["x-kubernetes-action"])[2] == [b"patch\n"]
    (sent, dry_run, *_) = (fields_of(each) for each in patch[8])
    assert fields_of(sent[2][0])[1][0].startswith(b"#/parameters/body-")
    query = fields_of(fields_of(fields_of(dry_run[1][0])[2][0])[3][0])
    assert (query[2], query[4], query[6]) == ([b"query"], [b"dryRun"], [b"string"])
    spec = fields_of(definitions["io.k8s.api.core.v1.PodSpec"])
    assert spec[19] == [b"containers"] and fields_of(spec[22][0])[1] == [b"object"]
    containers = fields_of(named(spec[25][0], 1)["containers"])
    assert fields_of(fields_of(containers[23][0])[1][0])[1] == [
        b"#/definitions/io.k8s.api.core.v1.Container"
    ]
    again = kube.get(path, headers={"accept": asked, "if-none-match": answer["ETag"]})
    assert again.status_code == 304

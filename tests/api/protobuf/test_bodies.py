"""Request bodies in Kubernetes protobuf, as kubectl 1.32 writes them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.api.kubernetes.protobuf import envelopes
from apps.cluster.documents import UnreadableDocument
from tests.api.conftest import Kube
from tests.api.objects import PODS

KINDS = ("v1 Pod", "v1 Node", "v1 Event", "apps/v1 StatefulSet", "resource.k8s.io/v1 ResourceClaim")
PROTOBUF = "application/vnd.kubernetes.protobuf"
NAMESPACE = "azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhwKFAoEdGVhbRIAGgAiACoAMgA4AEIAEgAaAgoAGgAiAA=="
PRIORITY_CLASS = (
    "azhzAAolChRzY2hlZHVsaW5nLms4cy5pby92MRINUHJpb3JpdHlDbGFzcxIxChIKAmhpEgAaACIAKgAyADgAQgAQZBgA"
    "IgFkKhRQcmVlbXB0TG93ZXJQcmlvcml0eRoAIgA="
)
BUDGET = (
    "azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSNwoSCgJiORIAGgAiACoAMgA4AEIAEhUKCQgBEAAa"
    "AzMwJRIICgYKAWESAWIaCggAGAAgACgAMAAaACIA"
)
SERVICE = (
    "azhzAAoNCgJ2MRIHU2VydmljZRJmCh0KAnMxEgAaACIAKgAyADgAQgBaCQoDYXBwEgJzMRJBChsKBzgwLTgwODASA1RD"
    "UBhQIgcIABCQPxoAKAASCQoDYXBwEgJzMRoAIglDbHVzdGVySVA6AEIAUgBaAGAAaAAaAgoAGgAiAA=="
)
#: kubectl create quota q --hard=pods=10,requests.cpu=500m --scopes=NotTerminating
QUOTA = (
    "azhzAAoTCgJ2MRINUmVzb3VyY2VRdW90YRJNChEKAXESABoAIgAqADIAOABCABI2CgwKBHBvZHMSBAoCMTAKFgoMcmVx"
    "dWVzdHMuY3B1EgYKBDUwMG0SDk5vdFRlcm1pbmF0aW5nGgAaACIA"
)
#: kubectl create deployment web --image=nginx --port=80 --replicas=2
DEPLOYMENT = (
    "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50Er8BCiYKA3dlYhIAGgdkZWZhdWx0IgAqADIAOABCAFoKCgNhcHASA3dl"
    "YhKGAQgCEgwKCgoDYXBwEgN3ZWIabAocCgASABoAIgAqADIAOABCAFoKCgNhcHASA3dlYhJMEi4KBW5naW54EgVuZ2lu"
    "eCoAMgoKABAAGFAiACoAQgBqAHIAgAEAiAEAkAEAogEAGgAyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBACICCgAoADgA"
    "GgwIABAAGAAgACgAOAAaACIA"
)
#: kubectl create job j --image=busybox -- sleep 5
JOB = (
    "azhzAAoPCghiYXRjaC92MRIDSm9iEoIBChEKAWoSABoAIgAqADIAOABCABJjMmEKEAoAEgAaACIAKgAyADgAQgASTRIq"
    "CgFqEgdidXN5Ym94GgVzbGVlcBoBNSoAQgBqAHIAgAEAiAEAkAEAogEAGgVOZXZlcjIAQgBKAFIAWABgAGgAggEAigEA"
    "mgEAwgEAGgggACgAMAA6ABoAIgA="
)


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (
            NAMESPACE,
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "team"},
                "spec": {},
                "status": {},
            },
        ),
        (
            PRIORITY_CLASS,
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "hi"},
                "value": 100,
                "description": "d",
                "preemptionPolicy": "PreemptLowerPriority",
            },
        ),
        (
            BUDGET,
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "b9"},
                "spec": {"minAvailable": "30%", "selector": {"matchLabels": {"a": "b"}}},
                "status": {
                    "disruptionsAllowed": 0,
                    "currentHealthy": 0,
                    "desiredHealthy": 0,
                    "expectedPods": 0,
                },
            },
        ),
        (
            SERVICE,
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s1", "labels": {"app": "s1"}},
                "spec": {
                    "ports": [
                        {"name": "80-8080", "protocol": "TCP", "port": 80, "targetPort": 8080}
                    ],
                    "selector": {"app": "s1"},
                    "type": "ClusterIP",
                },
                "status": {"loadBalancer": {}},
            },
        ),
        (
            QUOTA,
            {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {"name": "q"},
                "spec": {
                    "hard": {"pods": "10", "requests.cpu": "500m"},
                    "scopes": ["NotTerminating"],
                },
                "status": {},
            },
        ),
        (
            DEPLOYMENT,
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
                "spec": {
                    "replicas": 2,
                    "selector": {"matchLabels": {"app": "web"}},
                    "template": {
                        "metadata": {"labels": {"app": "web"}},
                        "spec": {
                            "containers": [
                                {
                                    "name": "nginx",
                                    "image": "nginx",
                                    "ports": [{"containerPort": 80}],
                                    "resources": {},
                                }
                            ]
                        },
                    },
                    "strategy": {},
                },
                "status": {},
            },
        ),
        (
            JOB,
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "j"},
                "spec": {
                    "template": {
                        "metadata": {},
                        "spec": {
                            "containers": [
                                {
                                    "name": "j",
                                    "image": "busybox",
                                    "command": ["sleep", "5"],
                                    "resources": {},
                                }
                            ],
                            "restartPolicy": "Never",
                        },
                    }
                },
                "status": {},
            },
        ),
    ],
)
def test_a_body_is_read_as_its_json(sent: str, body: dict[str, Any]) -> None:
    assert envelopes.decode(base64.b64decode(sent)) == body


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/api/v1/namespaces", NAMESPACE),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", PRIORITY_CLASS),
        ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", BUDGET),
        ("/api/v1/namespaces/default/services", SERVICE),
        ("/api/v1/namespaces/default/resourcequotas", QUOTA),
        ("/apis/apps/v1/namespaces/default/deployments", DEPLOYMENT),
        ("/apis/batch/v1/namespaces/default/jobs", JOB),
    ],
)
def test_kubectl_creates_objects_with_protobuf(kube: Kube, path: str, sent: str) -> None:
    query = "?fieldManager=kubectl-create&fieldValidation=Strict"
    answer = kube.post(f"{path}{query}", base64.b64decode(sent), content_type=PROTOBUF)
    assert answer.status_code == 201, answer.json()


@pytest.mark.django_db
def test_invalid_bytes_are_refused(kube: Kube) -> None:
    for raw, told in (
        (
            envelope("v1", "Namespace", b""),
            "converting (v1.Namespace) to (core.Pod): unknown conversion",
        ),
        (envelope("example.com/v1", "Pod", b""), 'no kind "Pod" is registered for version'),
        (envelope("v1", "Pod", b"\x0a\x7f"), "the bytes are not a message Pod"),
        (envelope("v1", "Pod", field(1, field(1, b"\xff"))), "a text is not UTF-8"),
        (envelope("v1", "Pod", field(1, field(1, b"a\x00"))), "NUL character"),
        (b"k8s\x00\xff", "the bytes are not a message Unknown"),
        (b"{}", "magic number"),
    ):
        answer = kube.post(PODS, raw, content_type=PROTOBUF)
        assert answer.status_code == 400
        assert told in answer.json()["message"]


@pytest.mark.django_db
def test_a_body_without_a_type_has_that_of_the_path_and_unknown_fields_are_ignored(
    kube: Kube,
) -> None:
    raw = b"k8s\x00" + field(2, field(1, field(1, b"team")) + field(90, b"newer"))
    answer = kube.post("/api/v1/namespaces", raw, content_type=PROTOBUF)
    assert answer.status_code == 201
    assert answer.json()["metadata"]["name"] == "team"


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(KINDS), raw=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(kind: str, raw: bytes) -> None:
    api_version, _, name = kind.rpartition(" ")
    for body in (raw, field(1, raw), field(2, field(1, raw))):
        try:
            envelopes.decode(envelope(api_version, name, body))
        except UnreadableDocument as refusal:
            assert str(refusal).startswith(("protobuf: ", "json parse error: "))


def field(number: int, value: bytes) -> bytes:
    """A field with a length (number up to 255, up to 127 bytes of value)."""
    key = number << 3 | 2
    keys = bytes([key]) if key < 128 else bytes([key & 127 | 128, key >> 7])
    return keys + bytes([len(value)]) + value


def envelope(api_version: str, kind: str, body: bytes) -> bytes:
    said = field(1, api_version.encode()) + field(2, kind.encode())
    return b"k8s\x00" + field(1, said) + field(2, body)

"""Admission webhooks: what they are asked, what they change, deny and warn of, and how they fail.

The messages are those that kube-apiserver 1.36 answers to the same requests.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from apps.administration.clusters import manifests
from apps.cluster.models import Cluster
from apps.cluster.webhook_client import LARGEST_ANSWER
from apps.cluster.writes import SITE_MANAGER, Actor
from apps.engine.loop.engines import Engines
from apps.scheduler.outgoing.rules import OutgoingRules
from tests.api.conftest import Kube
from tests.api.objects import PODS, binding, node, pod
from tests.api.test_creation import CreationClient, do, play
from tests.api.webhook_server import WebhookServer, patch_of

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
LABEL = patch_of({"op": "add", "path": "/metadata/labels", "value": {"hooked": "yes"}})

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebhookServer]:
    server = WebhookServer(tmp_path)
    yield server
    server.close()


def rule(resources: str = "configmaps", operations: str = "*", **more: Any) -> dict[str, Any]:
    return {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "operations": operations.split(","),
        "resources": resources.split(","),
        **more,
    }


class Hooks:
    """Configures webhooks of one cluster."""

    def __init__(self, kube: Kube, server: WebhookServer) -> None:
        self._kube, self._server = kube, server

    def webhook(self, path: str, *, name: str = "a.example.com", **more: Any) -> dict[str, Any]:
        return {
            "name": name,
            "clientConfig": self._server.client(path),
            "rules": [rule()],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **more,
        }

    def configure(self, sort: str, *webhooks: dict[str, Any], name: str = "w") -> None:
        answer = self._kube.post(
            f"{ADMISSION}/{sort.lower()}webhookconfigurations",
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{sort}WebhookConfiguration",
                "metadata": {"name": name},
                "webhooks": list(webhooks),
            },
        )
        assert answer.status_code == 201, answer.json()

    def validate(self, path: str, **more: Any) -> None:
        """A configuration with one validating webhook."""
        self.configure("Validating", self.webhook(path, **more))

    def mutate(self, path: str, **more: Any) -> None:
        self.configure("Mutating", self.webhook(path, **more))


@pytest.fixture
def hooks(kube: Kube, server: WebhookServer) -> Hooks:
    return Hooks(kube, server)


def config_map(name: str = "a", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


def test_a_webhook_is_sent_the_request(kube: Kube, hooks: Hooks, server: WebhookServer) -> None:
    hooks.mutate("/allow")
    hooks.validate("/allow")
    answer = kube.post(
        f"{CONFIG_MAPS}?fieldManager=me&fieldValidation=Strict", config_map(data={"x": "1"})
    )
    assert answer.status_code == 201
    (_, first), (_, second) = server.take()
    resource = {"group": "", "version": "v1", "resource": "configmaps"}
    kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
    for request in (first, second):
        assert request["kind"] == request["requestKind"] == kind
        assert request["resource"] == request["requestResource"] == resource
        assert (request["operation"], request["name"]) == ("CREATE", "a")
        assert (request["namespace"], request["dryRun"]) == ("default", False)
        assert request["userInfo"]["username"] == "alice"
        assert request["oldObject"] is None
        assert request["options"] == {
            "kind": "CreateOptions",
            "apiVersion": "meta.k8s.io/v1",
            "fieldManager": "me",
            "fieldValidation": "Strict",
        }
    assert set(first["object"]["metadata"]) == {"name", "namespace", "managedFields"}
    assert second["object"]["metadata"]["uid"] == answer.json()["metadata"]["uid"]
    assert first["uid"] != second["uid"]


def test_a_generated_name_is_unknown_before_the_validation(
    kube: Kube, hooks: Hooks, server: WebhookServer
) -> None:
    hooks.mutate("/allow")
    hooks.validate("/allow")
    answer = kube.post(CONFIG_MAPS, {"metadata": {"generateName": "gen-"}})
    (_, first), (_, second) = server.take()
    assert "name" not in first
    assert second["name"] == second["object"]["metadata"]["name"]
    assert answer.json()["metadata"]["name"] == second["name"]


def test_updates_and_deletions_have_both_objects(
    kube: Kube, hooks: Hooks, server: WebhookServer
) -> None:
    kube.post(CONFIG_MAPS, config_map(data={"x": "1"}))
    hooks.validate("/allow")
    kube.patch(f"{CONFIG_MAPS}/a", {"data": {"x": "2"}})
    kube.delete(f"{CONFIG_MAPS}/a", {"propagationPolicy": "Background"})
    (_, update), (_, deletion) = server.take()
    assert (update["object"]["data"], update["oldObject"]["data"]) == ({"x": "2"}, {"x": "1"})
    assert (deletion["object"], deletion["oldObject"]["data"]) == (None, {"x": "2"})
    assert deletion["options"]["propagationPolicy"] == "Background"


def test_a_collection_has_no_name(kube: Kube, hooks: Hooks, server: WebhookServer) -> None:
    kube.post(CONFIG_MAPS, config_map(metadata={"labels": {"k": "v"}}))
    hooks.validate("/allow")
    assert kube.delete(f"{CONFIG_MAPS}?labelSelector=k%3Dv").status_code == 200
    ((_, deletion),) = server.take()
    assert "name" not in deletion
    assert deletion["oldObject"]["metadata"]["name"] == "a"


def test_a_dry_run_says_so(kube: Kube, hooks: Hooks, server: WebhookServer) -> None:
    hooks.validate("/allow", sideEffects="NoneOnDryRun")
    assert kube.post(f"{CONFIG_MAPS}?dryRun=All", config_map()).status_code == 201
    ((_, request),) = server.take()
    assert (request["dryRun"], request["options"]["dryRun"]) == (True, ["All"])


@pytest.mark.parametrize(
    ("response", "code", "message"),
    [
        ({"allowed": False}, 400, "denied the request without explanation"),
        ({"allowed": False, "status": {"message": "no"}}, 400, "denied the request: no"),
        (
            {"allowed": False, "status": {"message": "teapot", "code": 418}},
            418,
            "denied the request: teapot",
        ),
        ({"allowed": False, "status": {"reason": "Because"}}, 400, "denied the request: Because"),
        ({"allowed": False, "status": {"message": "m", "code": 200}}, 400, "denied the request: m"),
    ],
)
@pytest.mark.parametrize("sort", ["Mutating", "Validating"])
def test_a_denial_is_what_the_webhook_says(
    kube: Kube,
    hooks: Hooks,
    server: WebhookServer,
    sort: str,
    response: Any,
    code: int,
    message: str,
) -> None:
    server.answers("/deny", lambda request: response)
    hooks.configure(sort, hooks.webhook("/deny"))
    answer = kube.post(CONFIG_MAPS, config_map())
    assert (answer.status_code, answer.json()["code"]) == (code, code)
    assert answer.json()["message"] == f'admission webhook "a.example.com" {message}'
    assert answer.json().get("reason") == response.get("status", {}).get("reason")
    assert kube.get(f"{CONFIG_MAPS}/a").status_code == 404


def wrong_uid(request: Any) -> bytes:
    response = {"uid": "other", "allowed": True}
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    ).encode()


FAILURES = [
    (lambda request: b"", "failed to call webhook: 0-length response with status code: 200"),
    (
        lambda request: b"hello",
        "failed to call webhook: couldn't get version/kind; json parse error",
    ),
    (lambda request: b"{}", "received invalid webhook response: webhook response was absent"),
    (wrong_uid, "received invalid webhook response: expected response.uid="),
    (
        lambda request: {"allowed": "yes"},
        "failed to call webhook: json: cannot unmarshal string into Go struct field "
        "AdmissionResponse.response.allowed of type bool",
    ),
    (
        lambda request: {"allowed": True, "patch": "W10="},
        "received invalid webhook response: validating webhook may not return response.patch",
    ),
    (
        lambda request: b'"' + b"x" * (LARGEST_ANSWER + 1),
        f"the answer is longer than {LARGEST_ANSWER} bytes",
    ),
]


@pytest.mark.parametrize(("responder", "message"), FAILURES)
def test_the_failure_policy_decides_about_unusable_answers(
    kube: Kube, hooks: Hooks, server: WebhookServer, responder: Any, message: str
) -> None:
    server.answers("/odd", responder)
    hooks.validate("/odd")
    answer = kube.post(CONFIG_MAPS, config_map())
    assert (answer.status_code, answer.json()["reason"]) == (500, "InternalError")
    start = 'Internal error occurred: failed calling webhook "a.example.com": '
    assert answer.json()["message"].startswith(start)
    assert message in answer.json()["message"]
    kube.patch(
        f"{ADMISSION}/validatingwebhookconfigurations/w",
        [{"op": "add", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}],
        kind="json-patch",
    )
    assert kube.post(CONFIG_MAPS, config_map()).status_code == 201


@pytest.mark.parametrize(
    ("client", "message"),
    [
        (
            {"url": "https://127.0.0.1:1/x"},
            'Post "https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect: connection '
            "refused",
        ),
        (
            {"url": "https://nowhere.invalid/x"},
            'Post "https://nowhere.invalid/x?timeout=10s": dial tcp: lookup nowhere.invalid: no '
            "such host",
        ),
        (
            {"service": {"namespace": "default", "name": "none", "path": "/p"}},
            'Post "https://none.default.svc:443/p?timeout=10s": service "none" not found',
        ),
        (
            {"service": {"namespace": "default", "name": "svc", "port": 80}},
            'Post "https://svc.default.svc:80/?timeout=10s": no service port 80 found for service '
            '"svc"',
        ),
        (
            {"service": {"namespace": "default", "name": "svc"}},
            'Post "https://svc.default.svc:443/?timeout=10s": dial tcp 10.96.0.77:443: connect: '
            "connection refused",
        ),
    ],
)
def test_what_cannot_be_reached_fails_like_upstream(
    kube: Kube, hooks: Hooks, client: Any, message: str
) -> None:
    spec = {"clusterIP": "10.96.0.77", "ports": [{"port": 443}]}
    kube.post("/api/v1/namespaces/default/services", {"metadata": {"name": "svc"}, "spec": spec})
    hooks.validate("/allow", clientConfig=client)
    answer = kube.post(CONFIG_MAPS, config_map())
    start = "Internal error occurred: failed calling webhook "
    assert answer.json()["message"] == (
        f'{start}"a.example.com": failed to call webhook: {message}'
    )


def test_a_certificate_has_to_be_trusted(kube: Kube, hooks: Hooks, server: WebhookServer) -> None:
    hooks.validate("/allow", clientConfig={"url": f"{server.url}/allow"})
    message = kube.post(CONFIG_MAPS, config_map()).json()["message"]
    assert message.endswith(
        "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    )
    assert server.take() == []


def test_a_slow_webhook_is_given_up(kube: Kube, hooks: Hooks, server: WebhookServer) -> None:
    given_up = threading.Event()
    server.answers("/slow", lambda request: {"allowed": given_up.wait(20)})
    hooks.validate("/slow", timeoutSeconds=1)
    message = kube.post(CONFIG_MAPS, config_map()).json()["message"]
    given_up.set()
    assert message.endswith('/slow?timeout=1s": context deadline exceeded')


def test_a_site_calls_only_addresses_that_it_allows(
    kube: Kube, hooks: Hooks, server: WebhookServer, settings: Any
) -> None:
    settings.OUTGOING = OutgoingRules(internal=False)
    hooks.validate("/allow")
    message = kube.post(CONFIG_MAPS, config_map()).json()["message"]
    assert "this site does not send requests to this address" in message
    assert server.take() == []


def test_a_mutation_is_stored_and_owned_by_nobody(
    kube: Kube, hooks: Hooks, server: WebhookServer
) -> None:
    server.answers("/label", lambda request: LABEL)
    hooks.mutate("/label")
    made = kube.post(CONFIG_MAPS, config_map(data={"x": "1"})).json()
    assert made["metadata"]["labels"] == {"hooked": "yes"}
    assert [e["fieldsV1"] for e in made["metadata"]["managedFields"]] == [
        {"f:data": {".": {}, "f:x": {}}}
    ]
    assert kube.get(f"{CONFIG_MAPS}/a").json() == made
    changed = kube.put(f"{CONFIG_MAPS}/a", config_map(data={"x": "2"})).json()
    assert (changed["metadata"]["labels"], changed["data"]) == ({"hooked": "yes"}, {"x": "2"})


def test_a_mutated_object_gets_its_defaults_and_is_validated(
    kube: Kube, hooks: Hooks, server: WebhookServer
) -> None:
    side = {"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "i"}}
    server.answers("/side", lambda request: patch_of(side))
    wrong = {"op": "add", "path": "/spec/containers/-", "value": {"name": "A"}}
    server.answers("/wrong", lambda request: patch_of(wrong))
    hooks.mutate(
        "/side", rules=[rule("pods", "CREATE")], objectSelector={"matchLabels": {"a": "b"}}
    )
    made = kube.post(PODS, {**pod("p"), "metadata": {"name": "p", "labels": {"a": "b"}}}).json()
    assert [each["name"] for each in made["spec"]["containers"]] == ["c", "side"]
    assert made["spec"]["containers"][1]["imagePullPolicy"] == "Always"
    assert made["status"]["phase"] == "Pending"
    hooks.configure("Mutating", hooks.webhook("/wrong", rules=[rule("pods", "CREATE")]), name="x")
    assert kube.post(PODS, pod("q")).status_code == 422


@pytest.mark.parametrize(
    ("step", "code", "message"),
    [
        (
            {"op": "replace", "path": "/nope/x", "value": 1},
            500,
            "Internal error occurred: replace operation does not apply: doc is missing path: "
            "/nope/x: missing value",
        ),
        (
            {"op": "test", "path": "/metadata/name", "value": "other"},
            500,
            "Internal error occurred: testing value /metadata/name failed: test failed",
        ),
        (
            {"op": "add", "path": "/data", "value": {"x": 5}},
            500,
            "Internal error occurred: json: cannot unmarshal number into Go struct field "
            "ConfigMap.data of type string",
        ),
        (
            {"op": "replace", "path": "/metadata/namespace", "value": "kube-system"},
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ],
)
def test_a_patch_that_cannot_be_applied_fails_whatever_the_policy(
    kube: Kube, hooks: Hooks, server: WebhookServer, step: Any, code: int, message: str
) -> None:
    server.answers("/odd", lambda request: patch_of(step))
    hooks.mutate("/odd", failurePolicy="Ignore")
    answer = kube.post(CONFIG_MAPS, config_map())
    assert (answer.status_code, answer.json()["message"]) == (code, message)


def test_webhooks_are_called_in_order_and_again_if_they_ask_for_it(
    kube: Kube, hooks: Hooks, server: WebhookServer
) -> None:
    add = {"op": "add", "path": "/data/hooked", "value": "yes"}
    server.answers("/data", lambda request: patch_of(add))
    server.answers("/label", lambda request: LABEL)
    hooks.configure("Mutating", hooks.webhook("/label", name="z.example.com"), name="b")
    again = hooks.webhook("/data", name="y.example.com", reinvocationPolicy="IfNeeded")
    hooks.configure("Mutating", again, name="a")
    made = kube.post(CONFIG_MAPS, config_map(data={"x": "1"})).json()
    assert [path for path, _ in server.take()] == ["/data", "/label", "/data"]
    assert (made["data"], made["metadata"]["labels"]) == (
        {"x": "1", "hooked": "yes"},
        {"hooked": "yes"},
    )


def test_a_deletion_cannot_be_changed(kube: Kube, hooks: Hooks, server: WebhookServer) -> None:
    kube.post(CONFIG_MAPS, config_map())
    server.answers("/label", lambda request: LABEL)
    hooks.mutate("/label")
    answer = kube.delete(f"{CONFIG_MAPS}/a")
    assert (answer.status_code, answer.json()["message"]) == (
        500,
        'Internal error occurred: admission webhook "a.example.com" attempted to modify the '
        "object, which is not supported for this operation",
    )


def test_rules_selectors_and_conditions_choose(
    kube: Kube, hooks: Hooks, server: WebhookServer
) -> None:
    named = {"matchLabels": {"kubernetes.io/metadata.name": "default"}}
    chosen = [
        {"rules": [rule(operations="UPDATE")]},
        {"rules": [rule(scope="Cluster")]},
        {"rules": [rule(apiGroups=["apps"])]},
        {"rules": []},
        {"namespaceSelector": {"matchLabels": {"team": "x"}}},
        {"objectSelector": {"matchLabels": {"team": "x"}}},
        {"matchConditions": [{"name": "c", "expression": "false"}]},
        {"matchConditions": [{"name": "c", "expression": "object.nope == 1"}]}
        | {"failurePolicy": "Ignore"},
    ]
    server.answers("/yes", lambda request: {"allowed": True})
    hooks.configure(
        "Validating",
        *(hooks.webhook("/allow", name=f"w{n}.example.com", **c) for n, c in enumerate(chosen)),
        hooks.webhook(
            "/yes",
            namespaceSelector=named,
            matchConditions=[{"name": "c", "expression": "object.metadata.name == 'a'"}],
        ),
    )
    assert kube.post(CONFIG_MAPS, config_map()).status_code == 201
    assert [path for path, _ in server.take()] == ["/yes"]


def test_a_condition_that_fails_forbids(kube: Kube, hooks: Hooks) -> None:
    hooks.validate("/allow", matchConditions=[{"name": "c", "expression": "object.spec.x == 1"}])
    answer = kube.post(CONFIG_MAPS, config_map())
    assert (answer.status_code, answer.json()["message"]) == (
        403,
        "configmaps \"a\" is forbidden: expression 'object.spec.x == 1' resulted in error: no such "
        "key: spec",
    )


def test_warnings_reach_the_client(kube: Kube, hooks: Hooks, server: WebhookServer) -> None:
    warned = {"allowed": True, "warnings": ["careful", "of two\nlines"]}
    server.answers("/warn", lambda request: warned)
    hooks.validate("/warn")
    answer = kube.post(CONFIG_MAPS, config_map())
    assert answer.headers["Warning"] == '299 - "careful"'


def test_subresources_are_asked_about_as_what_they_are(
    kube: Kube, hooks: Hooks, server: WebhookServer
) -> None:
    kube.post("/api/v1/nodes", node("n"))
    kube.post(PODS, pod("p"))
    kube.post(PODS, pod("q"))
    hooks.validate("/allow", rules=[rule("*/*", "CREATE,UPDATE"), rule("bindings", "CREATE")])
    kube.post(f"{PODS}/p/binding", binding("p", "n"))
    kube.post("/api/v1/namespaces/default/bindings", binding("q", "n"))
    kube.patch(f"{PODS}/p/status", {"status": {"phase": "Running"}})
    kube.post(f"{PODS}/p/eviction", {"metadata": {"name": "p"}})
    found = [
        (request["resource"]["resource"], request.get("subResource"), request["kind"]["kind"])
        for _, request in server.take()
        if request["resource"]["resource"] in ("pods", "bindings")
    ]
    assert found == [
        ("pods", "binding", "Binding"),
        ("bindings", None, "Binding"),
        ("pods", "status", "Pod"),
        ("pods", "eviction", "Eviction"),
    ]


def test_a_scale_can_be_changed(kube: Kube, hooks: Hooks, server: WebhookServer) -> None:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    kube.post(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    few = {"op": "replace", "path": "/spec/replicas", "value": 2}
    server.answers("/few", lambda request: patch_of(few))
    hooks.mutate("/few", rules=[rule("deployments/scale", "UPDATE")])
    scaled = kube.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 50}})
    assert scaled.json()["spec"]["replicas"] == 2
    assert kube.get(f"{DEPLOYMENTS}/d").json()["spec"]["replicas"] == 2


def test_what_governs_admission_is_never_asked_about(
    kube: Kube, hooks: Hooks, server: WebhookServer
) -> None:
    hooks.validate("/allow", rules=[rule("*")])
    answer = kube.patch(
        f"{ADMISSION}/validatingwebhookconfigurations/w", {"metadata": {"labels": {"a": "b"}}}
    )
    assert (answer.status_code, server.take()) == (200, [])


def test_custom_objects_are_sent_in_the_version_of_the_rule(
    kube: Kube, hooks: Hooks, server: WebhookServer
) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v2",
            "schema": {"openAPIV3Schema": schema},
        }
        for name in ("v1", "v2")
    ]
    kube.post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {
            "metadata": {"name": "gizmos.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "gizmos", "kind": "Gizmo"},
                "versions": versions,
            },
        },
    )
    of_v2 = rule("gizmos", apiVersions=["v2"])
    hooks.configure(
        "Validating",
        hooks.webhook("/allow", rules=[of_v2]),
        hooks.webhook("/allow", name="exact.example.com", rules=[of_v2], matchPolicy="Exact"),
    )
    gizmo = {"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": {"name": "g"}}
    assert kube.post("/apis/example.com/v1/namespaces/default/gizmos", gizmo).status_code == 201
    ((_, request),) = server.take()
    assert request["object"]["apiVersion"] == "example.com/v2"
    assert (request["resource"]["version"], request["requestResource"]["version"]) == ("v2", "v1")


def test_no_webhook_is_called_while_rows_are_locked(
    kube: Kube, hooks: Hooks, server: WebhookServer
) -> None:
    in_transaction = []
    changes = iter(range(100))

    def look(request: Any) -> dict[str, Any]:
        in_transaction.append(connection.in_atomic_block)
        if request["operation"] == "UPDATE" and request["name"] == "a" and next(changes) == 0:
            # another client changes the object meanwhile
            other = Kube(kube.headers["authorization"].removeprefix("Bearer "), "c1")
            other.patch(f"{CONFIG_MAPS}/a", {"data": {"other": "1"}})
            connection.close()
        return {"allowed": True}

    server.answers("/look", look)
    for name in "ab":
        kube.post(CONFIG_MAPS, config_map(name))
    hooks.validate("/look")
    assert kube.patch(f"{CONFIG_MAPS}/a", {"data": {"mine": "1"}}).status_code == 200
    assert kube.patch(f"{CONFIG_MAPS}/a?dryRun=All", {"data": {"dry": "1"}}).status_code == 200
    assert kube.delete(CONFIG_MAPS).status_code == 200
    assert kube.get(f"{CONFIG_MAPS}/a").status_code == 404
    assert not any(in_transaction)


def test_a_change_meanwhile_is_not_lost(kube: Kube, hooks: Hooks, server: WebhookServer) -> None:
    kube.post(CONFIG_MAPS, config_map())
    calls = []

    def look(request: Any) -> dict[str, Any]:
        calls.append(sorted(request["object"].get("data") or {}))
        if len(calls) == 1:
            other = Kube(kube.headers["authorization"].removeprefix("Bearer "), "c1")
            other.patch(f"{CONFIG_MAPS}/a", {"data": {"other": "1"}})
            connection.close()
        return {"allowed": True}

    server.answers("/look", look)
    hooks.validate("/look")
    changed = kube.patch(f"{CONFIG_MAPS}/a", {"data": {"mine": "1"}}).json()
    assert sorted(changed["data"]) == ["mine", "other"]
    assert calls == [["mine"], ["other"], ["mine", "other"]]


def test_creations_do_not_take_the_way_that_skips_webhooks(
    kube: Kube, hooks: Hooks, server: WebhookServer
) -> None:
    server.answers("/deny", lambda request: {"allowed": False})
    front = CreationClient(kube)

    async def create() -> list[int]:
        before = await front.post(PODS, pod("p"))
        await do(lambda: hooks.validate("/deny", rules=[rule("pods", "CREATE")]))
        after = await front.post(PODS, pod("q"))
        return [before[0], after[0], front.passed_on]

    # what is passed on is answered by the view
    assert play(create) == [201, 204, 1]


def test_pods_of_controllers_are_changed_and_denied(
    cluster: Cluster, kube: Kube, hooks: Hooks, server: WebhookServer
) -> None:
    side = {"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "i"}}
    server.answers("/side", lambda request: patch_of(side))
    hooks.mutate("/side", rules=[rule("pods", "CREATE")])
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    kube.post(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    engines = Engines()
    engines.run(cluster.pk)
    (made,) = kube.get(PODS).json()["items"]
    assert [each["name"] for each in made["spec"]["containers"]] == ["c", "side"]


def test_an_import_asks_no_webhook(
    cluster: Cluster, kube: Kube, hooks: Hooks, server: WebhookServer
) -> None:
    hooks.validate("/allow")
    text = json.dumps(config_map(metadata={"namespace": "default"}))
    manifests.import_yaml(cluster, text, actor=Actor("alice", manager=SITE_MANAGER))
    assert server.take() == []


@pytest.mark.parametrize(
    ("webhook", "message"),
    [
        (
            {"clientConfig": {"url": "http://a/"}},
            "clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; "
            "desired format: https://host[/path]",
        ),
        (
            {"clientConfig": {"url": "https://u:p@a/"}},
            'clientConfig.url: Invalid value: "u:p": user information is not permitted in the URL',
        ),
        (
            {"clientConfig": {"url": "https://a?x=1"}},
            'clientConfig.url: Invalid value: "x=1": query parameters are not permitted in the URL',
        ),
        (
            {"matchConditions": [{"name": "c", "expression": "1"}]},
            'matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int',
        ),
        (
            {"rules": [rule("pods/*,pods/status")]},
            "rules[0].resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, must "
            "not specify pods/status",
        ),
        (
            {"admissionReviewVersions": ["v1", "v1"]},
            'admissionReviewVersions[1]: Invalid value: "v1": duplicate version',
        ),
    ],
)
def test_invalid_configurations_are_refused(
    kube: Kube, hooks: Hooks, webhook: Any, message: str
) -> None:
    answer = kube.post(
        f"{ADMISSION}/validatingwebhookconfigurations",
        {"metadata": {"name": "w"}, "webhooks": [hooks.webhook("/allow", **webhook)]},
    )
    about = 'ValidatingWebhookConfiguration.admissionregistration.k8s.io "w" is invalid: '
    assert answer.json()["message"] == f"{about}webhooks[0].{message}"

"""Answers in which ours differed from those of a real kube-apiserver 1.36."""

from __future__ import annotations

import pytest

from tests.api.conftest import Kube
from tests.api.objects import PODS, pod

pytestmark = pytest.mark.django_db
CORE = "/api/v1/namespaces/default"
SERVED = {"group": "a.b", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/%s;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "empty"),
    [
        (METADATA % "json", '"items":null'),
        (METADATA % "yaml", "items: null"),
        (TABLE, '"rows":null'),
        ("application/json", '"items":[]'),
    ],
)
def test_an_empty_list_is_null_where_the_api_server_says_so(
    kube: Kube, accept: str, empty: str
) -> None:
    answer = kube.get(f"{CORE}/limitranges", headers={"accept": accept})
    assert empty in b"".join(answer).decode()


def test_an_empty_table_of_a_kind_with_columns_of_its_own_is_a_list(kube: Kube) -> None:
    assert kube.get(PODS, headers={"accept": TABLE}).json()["rows"] == []


def test_what_every_cluster_has_belongs_to_the_api_server(kube: Kube) -> None:
    for path in (
        "/api/v1/namespaces/kube-system",
        "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical",
        f"{CORE}/services/kubernetes",
    ):
        (entry,) = kube.get(path).json()["metadata"]["managedFields"]
        assert entry["manager"] == "kube-apiserver"


@pytest.mark.parametrize(
    ("path", "body", "causes"),
    [
        (
            f"{CORE}/endpoints",
            {"subsets": [{"addresses": [{"ip": "x"}], "ports": [{"port": 80}]}]},
            [
                'Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
                'Invalid value: "x": must be a valid IP address',
            ],
        ),
        (
            "/apis/networking.k8s.io/v1/servicecidrs",
            {"spec": {"cidrs": ["10.1.0.0/24", "10.2.0.0/24"]}},
            [
                'Invalid value: ["10.1.0.0/24","10.2.0.0/24"]: may specify no more than one IP '
                "for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
            ],
        ),
        (
            "/apis/apps/v1/namespaces/default/controllerrevisions",
            {"data": [1], "revision": 1},
            ["Required value: data must be a valid JSON object"],
        ),
        (
            "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
            {"storageClassName": "c", "capacity": "-1"},
            ['Invalid value: "-1": must be greater than or equal to 0'],
        ),
        (
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            {
                "spec": {
                    "minReplicas": 0,
                    "maxReplicas": 2,
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
                }
            },
            [
                "Invalid value: 0: must be greater than or equal to 1",
                "Forbidden: must specify at least one Object or External metric to support "
                "scaling to zero replicas",
            ],
        ),
        (
            "/apis/apiregistration.k8s.io/v1/apiservices",
            {"metadata": {}, "spec": {**SERVED, "caBundle": "eA==", "insecureSkipTLSVerify": True}},
            [
                "Required value: name or generateName is required",
                'Invalid value: "1 bytes": local APIServices may not have a caBundle',
                "Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
            ],
        ),
        (
            "/apis/apiregistration.k8s.io/v1/apiservices",
            {
                "metadata": {"name": "v1.a.b"},
                "spec": {**SERVED, "service": {"name": "s", "namespace": "n", "port": 70_000}},
            },
            ["Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive"],
        ),
    ],
)
def test_objects_are_refused_with_the_causes_of_the_api_server(
    kube: Kube, path: str, body: dict[str, object], causes: list[str]
) -> None:
    refused = kube.post(path, {"metadata": {"name": "n"}, **body})
    assert refused.status_code == 422
    assert [each["message"] for each in refused.json()["details"]["causes"]] == causes


INT_OR_STRING = {
    "x-kubernetes-int-or-string": True,
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "default": True,
}
NO_INT = "spec.validation.openAPIV3Schema.properties[a].default"
WRONG_RULE = {"type": "string", "x-kubernetes-validations": [{"rule": "self == 1"}]}


@pytest.mark.parametrize(
    ("schema", "causes"),
    [
        # rules are compiled once everything else is right
        (
            {"type": "object", "properties": {"a": INT_OR_STRING, "b": WRONG_RULE}},
            [
                f'{NO_INT}: Invalid value: "": "" must validate at least one schema (anyOf)',
                f'{NO_INT}: Invalid value: "boolean":  in body must be of type integer: "boolean"',
            ],
        ),
        (
            {"type": "object", "properties": {"a": {**INT_OR_STRING, "anyOf": None}}},
            [],
        ),
        (
            {"properties": {"b": WRONG_RULE}},
            ["spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root"],
        ),
    ],
)
def test_schemas_are_refused_with_the_causes_of_the_api_server(
    kube: Kube, schema: dict[str, object], causes: list[str]
) -> None:
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "as", "kind": "A"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        ],
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All"
    answer = kube.post(path, {"metadata": {"name": "as.example.com"}, "spec": spec}).json()
    found = (answer.get("details") or {}).get("causes") or []
    assert [f"{each['field']}: {each['message']}" for each in found] == causes


def test_versions_of_a_definition_have_different_names(kube: Kube) -> None:
    version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "as", "kind": "A"},
        "versions": [{**version, "storage": True}, {**version, "storage": False}],
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    refused = kube.post(path, {"metadata": {"name": "as.example.com"}, "spec": spec}).json()
    (cause,) = refused["details"]["causes"]
    assert cause["message"].endswith(": must contain unique version names")
    # all of them have it
    assert '"Schema":null' in cause["message"]


def test_control_characters_of_unknown_fields_are_escaped(kube: Kube) -> None:
    answer = kube.post(f"{CORE}/configmaps", {"metadata": {"name": "a"}, "a\nb": 1})
    assert answer.headers["Warning"] == '299 - "unknown field \\"a\\\\nb\\""'


def test_nothing_is_streamed_as_yaml(kube: Kube) -> None:
    for accept, status in (("yaml", 200), ("yaml;stream=watch", 406), ("json;stream=watch", 200)):
        answer = kube.get(f"{CORE}/configmaps", headers={"accept": f"application/{accept}"})
        assert answer.status_code == status


def test_an_update_of_a_runtime_class_is_checked_as_a_new_one(kube: Kube) -> None:
    classes = "/apis/node.k8s.io/v1/runtimeclasses"
    kube.post(classes, {"metadata": {"name": "c"}, "handler": "h"})
    refused = kube.patch(f"{classes}/c", {"overhead": {"podFixed": {"cpu": -1}}})
    assert refused.json()["details"]["causes"][0]["field"] == "overhead.limits[cpu]"


def test_the_phase_of_a_namespace_has_a_default(kube: Kube) -> None:
    kube.post("/api/v1/namespaces", {"metadata": {"name": "team"}})
    stored = kube.put("/api/v1/namespaces/team/status", {"metadata": {"name": "team"}})
    assert stored.json()["status"] == {"phase": "Active"}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/apis/batch/v1/jobs", 'field label "x" not supported for Job'),
        (
            "/apis/resource.k8s.io/v1/resourceslices",
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x",
        ),
        (
            "/apis/apps/v1/replicasets",
            '"x" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
    ],
)
def test_unknown_field_selectors_are_refused_in_the_words_of_the_kind(
    kube: Kube, path: str, message: str
) -> None:
    assert kube.get(f"{path}?fieldSelector=x%3D1").json()["message"] == message


def test_limits_are_checked_when_a_pod_is_valid_and_said_once(kube: Kube) -> None:
    limit = {"type": "Container", "max": {"cpu": "1"}, "maxLimitRequestRatio": {"memory": "2"}}
    kube.post(f"{CORE}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [limit]}})
    containers = [
        {"name": name, "image": "i", "resources": {"limits": {"cpu": "64Mi"}}} for name in "ab"
    ]
    refused = kube.post(PODS, pod("p", containers=containers))
    assert refused.status_code == 403
    assert refused.json()["message"].endswith(
        "is forbidden: [maximum cpu usage per Container is 1, but limit is 64Mi, memory max limit "
        "to request ratio per Container is 2, but no request is specified or request is 0]"
    )
    containers[0]["resources"] = {"limits": {"cpu": "2"}, "requests": {"cpu": "3"}}
    assert kube.post(PODS, pod("p", containers=containers)).status_code == 422


def test_changes_of_a_csi_driver_are_counted_from_its_first(kube: Kube) -> None:
    drivers = "/apis/storage.k8s.io/v1/csidrivers"
    created = kube.post(drivers, {"metadata": {"name": "d"}}).json()
    assert "generation" not in created["metadata"]
    for change, generation in (
        ({"spec": {"podInfoOnMount": True}}, 1),
        ({"metadata": {"labels": {"a": "b"}}}, 1),
        ({"spec": None}, 2),
    ):
        answer = kube.request(
            "PATCH", f"{drivers}/d", change, content_type="application/merge-patch+json"
        )
        assert answer.json()["metadata"]["generation"] == generation


def test_the_name_of_an_object_that_is_being_deleted_is_taken(kube: Kube) -> None:
    body = {"metadata": {"name": "a", "finalizers": ["example.com/a"]}}
    kube.post(f"{CORE}/configmaps", body)
    kube.delete(f"{CORE}/configmaps/a")
    answer = kube.post(f"{CORE}/configmaps", body)
    assert answer.json()["message"] == 'object is being deleted: configmaps "a" already exists'


def test_a_write_of_the_status_that_leaves_the_count_of_templates_out_owns_it(kube: Kube) -> None:
    sets = "/apis/apps/v1/namespaces/default/daemonsets"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = {"metadata": {"name": "d"}, "spec": spec}
    kube.post(sets, body)
    stored = kube.put(f"{sets}/d/status", body).json()["metadata"]
    count = "deprecated.daemonset.template.generation"
    assert stored["annotations"] == {count: "1"}
    owned = {e.get("subresource"): e["fieldsV1"] for e in stored["managedFields"]}
    assert owned["status"]["f:metadata"] == {"f:annotations": {f"f:{count}": {}}}
    assert owned[None]["f:metadata"] == {"f:annotations": {}}


def test_a_list_of_any_version_has_no_pages(kube: Kube) -> None:
    for name in "abc":
        kube.post(f"{CORE}/secrets", {"metadata": {"name": name}})
    first = kube.get(f"{CORE}/secrets?limit=1").json()
    assert [item["metadata"]["name"] for item in first["items"]] == ["a"]
    rest = kube.get(
        f"{CORE}/secrets?limit=1&resourceVersion=0&continue={first['metadata']['continue']}"
    ).json()
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c"]
    assert "continue" not in rest["metadata"]


def test_an_apply_of_a_scale_asks_for_the_replicas(kube: Kube) -> None:
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    kube.post(deployments, {"metadata": {"name": "d"}, "spec": spec})

    def apply(replicas: int, query: str) -> int:
        scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}}
        answer = kube.request(
            "PATCH",
            f"{deployments}/d/scale?{query}",
            {**scale, "spec": {"replicas": replicas}},
            content_type="application/apply-patch+yaml",
        )
        return int(answer.status_code)

    assert apply(5, "fieldManager=b") == 409
    assert apply(5, "fieldManager=b&force=true") == 200
    assert apply(6, "fieldManager=b") == 200
    assert apply(7, "fieldManager=c") == 409
    # the same value has both as owners
    assert apply(6, "fieldManager=c") == 200
    # others are asked before the value is checked
    assert apply(-1, "fieldManager=d") == 409
    assert apply(-1, "fieldManager=d&force=true") == 422
    stored = kube.get(f"{deployments}/d").json()
    owners = [
        (entry["manager"], entry["subresource"])
        for entry in stored["metadata"]["managedFields"]
        if entry["operation"] == "Apply"
    ]
    assert owners == [("b", "scale"), ("c", "scale")]
    assert stored["spec"]["replicas"] == 6


CONTAINER = {"name": "c", "image": "i"}


def test_a_schema_of_items_with_a_wrong_type_is_refused(kube: Kube) -> None:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    tags = {"type": "array", "items": {"type": {"unknown": 1}}}
    rules = [{"rule": "self.size < 8"}]
    properties = {"size": {"type": "integer"}, "tags": tags}
    part = {"type": "object", "properties": properties, "x-kubernetes-validations": rules}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": part}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    refused = kube.post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {
            "metadata": {"name": "things.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": names,
                "versions": [version],
            },
        },
    )
    assert refused.status_code in (400, 422)

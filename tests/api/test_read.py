"""GET of an object and of a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from apps.cluster import queries
from apps.cluster.models import Cluster
from tests.api.conftest import Kube
from tests.api.objects import NODES, PODS, node, pod

pytestmark = pytest.mark.django_db

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@pytest.fixture
def five_pods(kube: Kube) -> Kube:
    for number in range(5):
        kube.post(PODS, pod(f"p{number}", labels={"odd": str(number % 2)}))
    return kube


def names(answer: object) -> list[str]:
    return [item["metadata"]["name"] for item in answer.json()["items"]]


def test_the_items_of_a_list_have_no_type(five_pods: Kube) -> None:
    body = five_pods.get(PODS).json()
    assert body["kind"] == "PodList"
    assert len(body["items"]) == 5
    assert "kind" not in body["items"][0]
    assert body["metadata"]["resourceVersion"].isdecimal()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("labelSelector=odd%3D1", ["p1", "p3"]),
        ("labelSelector=odd+notin+(1)", ["p0", "p2", "p4"]),
        ("labelSelector=odd%3E0", ["p1", "p3"]),
        ("labelSelector=!odd", []),
        ("fieldSelector=metadata.name%3Dp2", ["p2"]),
        ("fieldSelector=spec.nodeName%3Dn1", []),
        ("fieldSelector=status.phase!%3DRunning,metadata.name!%3Dp0", ["p1", "p2", "p3", "p4"]),
    ],
)
def test_a_list_can_be_selected(five_pods: Kube, query: str, found: list[str]) -> None:
    assert names(five_pods.get(f"{PODS}?{query}")) == found


def test_pages_belong_to_one_version(five_pods: Kube) -> None:
    first = five_pods.get(f"{PODS}?limit=2").json()
    assert first["metadata"]["remainingItemCount"] == 3
    five_pods.delete(f"{PODS}/p4")
    five_pods.patch(f"{PODS}/p3", {"metadata": {"labels": {"late": "1"}}})
    five_pods.post(PODS, pod("zz"))
    token = first["metadata"]["continue"]
    rest = five_pods.get(f"{PODS}?limit=9&continue={token}").json()
    assert [item["metadata"]["name"] for item in rest["items"]] == ["p2", "p3", "p4"]
    assert "late" not in rest["items"][1]["metadata"]["labels"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_objects_behind_a_page_are_counted_up_to_a_number(
    five_pods: Kube, monkeypatch: pytest.MonkeyPatch
) -> None:
    for most, counted in ((3, 3), (2, None)):
        monkeypatch.setattr(queries, "MOST_COUNTED", most)
        metadata = five_pods.get(f"{PODS}?limit=2").json()["metadata"]
        assert metadata.get("remainingItemCount") == counted and metadata["continue"]


def test_later_pages_have_the_version_of_the_first_while_other_kinds_change(
    five_pods: Kube,
) -> None:
    first = five_pods.get(f"{PODS}?limit=2").json()["metadata"]
    five_pods.post(NODES, node("another"))
    second = five_pods.get(f"{PODS}?limit=2&continue={first['continue']}").json()["metadata"]
    assert second["resourceVersion"] == first["resourceVersion"]
    third = five_pods.get(f"{PODS}?limit=2&continue={second['continue']}").json()["metadata"]
    assert third["resourceVersion"] == first["resourceVersion"]


def test_a_list_can_be_read_at_an_earlier_version(five_pods: Kube) -> None:
    version = five_pods.get(PODS).json()["metadata"]["resourceVersion"]
    five_pods.post(PODS, pod("later"))
    exact = f"{PODS}?resourceVersionMatch=Exact&resourceVersion={version}"
    assert names(five_pods.get(exact)) == ["p0", "p1", "p2", "p3", "p4"]


def test_a_version_that_is_not_retained_has_expired(five_pods: Kube, cluster: Cluster) -> None:
    token = five_pods.get(f"{PODS}?limit=2").json()["metadata"]["continue"]
    five_pods.post(PODS, pod("later"))
    Cluster.objects.update(forgotten_version=10**6, resource_version=10**6)
    answer = five_pods.get(f"{PODS}?limit=2&continue={token}")
    assert (answer.status_code, answer.json()["reason"]) == (410, "Expired")
    go_on = answer.json()["metadata"]["continue"]
    rest = five_pods.get(f"{PODS}?limit=9&continue={go_on}")
    assert names(rest) == ["p2", "p3", "p4"]


@pytest.mark.parametrize(
    ("query", "status", "told"),
    [
        ("labelSelector=a+b", 400, "unable to parse requirement"),
        ("labelSelector=,", 400, "found ','"),
        ("fieldSelector=spec.bogus%3D1", 400, "field label not supported: spec.bogus"),
        ("fieldSelector=status.phase", 400, "invalid selector"),
        ("limit=abc", 400, "strconv.ParseInt"),
        ("continue=nonsense", 400, "continue key is not valid"),
        ("continue=None", 400, "after top-level value"),
        ("resourceVersion=abc", 400, "resourceVersion"),
        ("resourceVersionMatch=Exact", 422, "resourceVersionMatch is forbidden unless"),
        ("resourceVersion=99999999", 504, "Too large resource version"),
    ],
)
def test_a_wrong_parameter_is_refused_and_named(
    kube: Kube, query: str, status: int, told: str
) -> None:
    answer = kube.get(f"{PODS}?{query}")
    assert answer.status_code == status
    assert told in answer.json()["message"]


def test_a_missing_object_is_not_found(kube: Kube) -> None:
    answer = kube.get(f"{PODS}/none")
    assert answer.status_code == 404
    assert answer.json()["message"] == 'pods "none" not found'
    assert answer.json()["details"] == {"name": "none", "kind": "pods"}


def test_answers_come_as_yaml_tables_and_metadata(five_pods: Kube) -> None:
    five_pods.post(NODES, node("n1", **{"node-role.kubernetes.io/worker": ""}))
    text = five_pods.get(f"{PODS}/p1", headers={"Accept": "application/yaml"})
    assert text.headers["Content-Type"] == "application/yaml"
    table = five_pods.get(NODES, headers={"Accept": TABLE}).json()
    assert table["kind"] == "Table"
    assert table["rows"][0]["cells"][:3] == ["n1", "Ready", "worker"]
    metadata = five_pods.get(PODS, headers={"Accept": PARTIAL}).json()
    assert metadata["kind"] == "PartialObjectMetadataList"
    assert set(metadata["items"][0]) == {"kind", "apiVersion", "metadata"}
    assert five_pods.get(PODS, headers={"Accept": "text/html"}).status_code == 406


def test_every_kind_has_a_table(kube: Kube) -> None:
    from apps.api.kubernetes import resources

    for resource in resources.ALL:
        root = f"/apis/{resource.group}" if resource.group else "/api"
        answer = kube.get(f"{root}/{resource.version}/{resource.plural}", headers={"Accept": TABLE})
        assert answer.status_code == 200, resource.plural
        assert answer.json()["columnDefinitions"], resource.plural


def test_a_list_costs_the_same_queries_however_long_it_is(
    five_pods: Kube, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    # the key with its user, the cluster; the query for the objects streams, and is not counted
    with django_assert_num_queries(2):
        assert len(names(five_pods.get(PODS))) == 5


def test_one_object_costs_two_queries(
    five_pods: Kube, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(2) as queries:
        five_pods.get(f"{PODS}/p1")
    assert isinstance(queries, CaptureQueriesContext)


def test_an_anonymous_request_reads_nothing(anonymous: Kube) -> None:
    for path in (PODS, f"{PODS}/p1", "/api", "/apis", "/version", "/healthz", "/openapi/v3"):
        assert anonymous.get(path).status_code == 401


def test_the_openapi_document_describes_every_operation(kube: Kube) -> None:
    """As generators of clients need it: names, parameters, bodies, lists, subresources."""
    document = kube.get("/openapi/v3/api/v1").json()
    paths, schemas = document["paths"], document["components"]["schemas"]
    operations = [
        operation
        for path in paths.values()
        for method, operation in path.items()
        if method != "parameters"
    ]
    assert len({each["operationId"] for each in operations}) == len(operations)
    listing = paths["/api/v1/namespaces/{namespace}/pods"]["get"]
    assert listing["operationId"] == "listCoreV1NamespacedPod"
    assert {"labelSelector", "limit", "watch"} <= {each["name"] for each in listing["parameters"]}
    schema = listing["responses"]["200"]["content"]["application/json"]["schema"]
    assert "items" in schemas[schema["$ref"].rpartition("/")[2]]["properties"]
    evicting = paths["/api/v1/namespaces/{namespace}/pods/{name}/eviction"]["post"]
    assert evicting["x-kubernetes-group-version-kind"]["kind"] == "Eviction"
    assert "io.k8s.api.policy.v1.Eviction" in schemas
    patch = paths["/api/v1/nodes/{name}"]["patch"]["requestBody"]["content"]
    reference = patch["application/json-patch+json"]["schema"]["$ref"]
    assert reference.endswith(".meta.v1.Patch")
    assert "/api/v1/namespaces/{namespace}/bindings" in paths
    named = {target.rpartition("/")[2] for target in _references(document)}
    assert named <= schemas.keys()


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def test_the_form_of_an_object_is_refused_for_a_list_and_the_other_way_round(kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    answer = kube.get(f"{PODS}/p1", headers={"Accept": PARTIAL})
    assert (answer.status_code, answer.json()["message"]) == (
        406,
        "you requested PartialObjectMetadataList, but the requested object is not a list "
        "(*core.Pod)",
    )
    answer = kube.get(PODS, headers={"Accept": PARTIAL.replace("MetadataList", "Metadata")})
    assert (answer.status_code, answer.json()["message"]) == (
        406,
        "you requested PartialObjectMetadata, but the requested object is a list (*core.PodList)",
    )


def test_an_object_at_a_later_version_and_an_invalid_timeout_are_errors(kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    answer = kube.get(f"{PODS}/p1?resourceVersion=999999")
    assert answer.status_code == 504
    assert answer.json()["message"].startswith("Timeout: Too large resource version: 999999")
    assert kube.get(f"{PODS}/p1?timeout=32s").status_code == 200
    answer = kube.get(f"{PODS}?timeout=abc")
    assert (answer.status_code, answer.json()["message"]) == (
        400,
        'invalid timeout specified in the request URL - time: invalid duration "abc"',
    )

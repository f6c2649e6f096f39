"""The addresses behind a Service follow its pods."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controllers.conftest import Body, Lab

pytestmark = pytest.mark.django_db(transaction=True)

NAME, MANAGED_BY = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"


def service(lab: Lab, name: str = "web", **spec: Any) -> Body:
    ports = [{"port": 80, "targetPort": 8080}]
    body = {
        "metadata": {"name": name, "labels": {"tier": "front"}},
        "spec": {"selector": {"app": "web"}, "ports": ports, **spec},
    }
    return lab.create("Service", body)


def web_pods(lab: Lab, *names: str, **options: Any) -> None:
    for name in names:
        lab.pod(name, labels={"app": "web"}, **options)
    lab.settle()


def slices(lab: Lab, name: str = "web") -> list[Body]:
    found = lab.all("EndpointSlice", "default")
    return [each for each in found if each["metadata"]["labels"][NAME] == name]


def endpoints(lab: Lab) -> list[Body]:
    return [each for found in slices(lab) for each in found.get("endpoints") or []]


def address_of(lab: Lab, pod: str) -> str:
    return str(lab.get("Pod", pod)["status"]["podIP"])


def test_running_pods_are_the_endpoints_of_a_service(lab: Lab) -> None:
    lab.node("n1")
    created = service(lab)
    web_pods(lab, "a", "b")
    lab.pod("other")
    lab.settle()

    (found,) = slices(lab)
    assert found["metadata"]["name"].startswith("web-")
    assert found["metadata"]["labels"] == {
        "tier": "front",
        NAME: "web",
        MANAGED_BY: "endpointslice-controller.k8s.io",
    }
    (owner,) = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Service", created["metadata"]["uid"])
    assert found["addressType"] == "IPv4"
    assert found["ports"] == [{"name": "", "port": 8080, "protocol": "TCP"}]
    assert found["endpoints"][0] == {
        "addresses": [address_of(lab, "a")],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "nodeName": "n1",
        "zone": "zone-1",
        "targetRef": {
            "kind": "Pod",
            "namespace": "default",
            "name": "a",
            "uid": lab.get("Pod", "a")["metadata"]["uid"],
        },
    }
    assert [each["targetRef"]["name"] for each in found["endpoints"]] == ["a", "b"]

    (subset,) = lab.get("Endpoints", "web")["subsets"]
    assert {each["ip"] for each in subset["addresses"]} == {
        address_of(lab, "a"),
        address_of(lab, "b"),
    }
    assert subset["ports"] == [{"port": 8080, "protocol": "TCP"}]


def test_a_pod_that_ends_is_no_endpoint_and_one_that_terminates_serves(lab: Lab) -> None:
    lab.node("n1")
    service(lab)
    web_pods(lab, "a", "b")
    lab.delete("Pod", "a")
    lab.settle()
    conditions = {each["targetRef"]["name"]: each["conditions"] for each in endpoints(lab)}
    assert conditions["a"] == {"ready": False, "serving": True, "terminating": True}
    assert conditions["b"]["ready"]
    (subset,) = lab.get("Endpoints", "web")["subsets"]
    assert [each["targetRef"]["name"] for each in subset["addresses"]] == ["b"]

    lab.advance(31)
    assert [each["targetRef"]["name"] for each in endpoints(lab)] == ["b"]
    lab.change(
        "Pod",
        "b",
        lambda body: {**body, "status": {**body["status"], "phase": "Failed"}},
        part="status",
    )
    lab.settle()
    assert not endpoints(lab)
    assert "subsets" not in lab.get("Endpoints", "web")


def test_a_pod_that_is_not_ready_is_listed_apart(lab: Lab) -> None:
    lab.node("n1")
    service(lab)
    service(lab, "early", publishNotReadyAddresses=True)
    web_pods(lab, "a")

    def lose_readiness(body: Body) -> Body:
        conditions = [
            {**each, "status": "False"} if each["type"] == "Ready" else each
            for each in body["status"]["conditions"]
        ]
        return {**body, "status": {**body["status"], "conditions": conditions}}

    lab.change("Pod", "a", lose_readiness, part="status")
    lab.settle()
    (endpoint,) = endpoints(lab)
    assert endpoint["conditions"] == {"ready": False, "serving": False, "terminating": False}
    (subset,) = lab.get("Endpoints", "web")["subsets"]
    assert "addresses" not in subset
    assert len(subset["notReadyAddresses"]) == 1
    (early,) = slices(lab, "early")
    assert early["endpoints"][0]["conditions"]["ready"]
    (subset,) = lab.get("Endpoints", "early")["subsets"]
    assert len(subset["addresses"]) == 1


def test_named_ports_are_those_of_each_pod(lab: Lab) -> None:
    """Pods with other numbers for a name are in other slices and subsets."""
    lab.node("n1")
    service(lab, ports=[{"name": "http", "port": 80, "targetPort": "web"}])
    for name, port in (("a", 8080), ("b", 9090)):
        container = {"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": port}]}
        lab.pod(name, labels={"app": "web"}, containers=[container])
    lab.settle()
    found = {each["ports"][0]["port"]: each["endpoints"] for each in slices(lab)}
    assert {port: each[0]["targetRef"]["name"] for port, each in found.items()} == {
        8080: "a",
        9090: "b",
    }
    subsets = lab.get("Endpoints", "web")["subsets"]
    assert sorted(each["ports"][0]["port"] for each in subsets) == [8080, 9090]


def test_a_service_without_pods_has_one_empty_slice(lab: Lab) -> None:
    service(lab)
    lab.settle()
    (found,) = slices(lab)
    assert not found.get("endpoints")
    lab.node("n1")
    web_pods(lab, "a")
    (filled,) = slices(lab)
    assert len(filled["endpoints"]) == 1


def test_a_slice_has_at_most_100_endpoints_which_stay_where_they_are(lab: Lab) -> None:
    for number in range(2):
        lab.node(f"n{number}", cpu="64")
    service(lab)
    web_pods(lab, *(f"p{number:03}" for number in range(130)))
    names = {each["metadata"]["name"]: each for each in slices(lab)}
    assert sorted(len(each["endpoints"]) for each in names.values()) == [30, 100]

    lab.delete("Pod", "p000", gracePeriodSeconds=0)
    web_pods(lab, "p130")
    after = {each["metadata"]["name"]: each for each in slices(lab)}
    assert after.keys() == names.keys()
    assert sum(len(each["endpoints"]) for each in after.values()) == 130
    for name, each in after.items():
        before = {endpoint["targetRef"]["name"] for endpoint in names[name]["endpoints"]}
        now = {endpoint["targetRef"]["name"] for endpoint in each["endpoints"]}
        assert before - now <= {"p000"}
    assert len(lab.get("Endpoints", "web")["subsets"][0]["addresses"]) == 130


def test_slices_are_restored_and_follow_the_labels_of_the_service(lab: Lab) -> None:
    lab.node("n1")
    service(lab)
    web_pods(lab, "a")
    (first,) = slices(lab)
    lab.delete("EndpointSlice", first["metadata"]["name"])
    lab.settle()
    (second,) = slices(lab)
    assert second["endpoints"] == first["endpoints"]

    def relabel(body: Body) -> Body:
        return {**body, "metadata": {**body["metadata"], "labels": {"tier": "back"}}}

    lab.change("Service", "web", relabel)
    lab.settle()
    (third,) = slices(lab)
    assert third["metadata"]["labels"]["tier"] == "back"
    assert lab.get("Endpoints", "web")["metadata"]["labels"]["tier"] == "back"


def test_what_a_service_leaves_is_deleted(lab: Lab) -> None:
    lab.node("n1")
    service(lab)
    web_pods(lab, "a")
    lab.delete("Service", "web")
    lab.settle()
    assert not slices(lab)
    assert not lab.exists("Endpoints", "web")


def test_addresses_of_a_service_without_a_selector_are_the_users(lab: Lab) -> None:
    body = {"metadata": {"name": "db"}, "spec": {"ports": [{"port": 5432}]}}
    lab.create("Service", body)
    subsets = [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 5432}]}]
    lab.create("Endpoints", {"metadata": {"name": "db"}, "subsets": subsets})
    lab.settle()
    assert lab.get("Endpoints", "db")["subsets"][0]["addresses"] == [{"ip": "192.0.2.1"}]
    assert not slices(lab, "db")


def test_a_headless_service_names_its_pods(lab: Lab) -> None:
    lab.node("n1")
    service(lab, clusterIP="None", ports=[])
    web_pods(lab, "a", hostname="first", subdomain="web")
    (found,) = slices(lab)
    assert found["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    assert found["endpoints"][0]["hostname"] == "first"
    (subset,) = lab.get("Endpoints", "web")["subsets"]
    assert subset["addresses"][0]["hostname"] == "first"
    assert "ports" not in subset


def test_the_service_of_the_api_server_is_restored(lab: Lab) -> None:
    before = lab.get("Service", "kubernetes")
    lab.delete("Service", "kubernetes")
    lab.settle()
    after = lab.get("Service", "kubernetes")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"] == before["spec"]


@pytest.mark.parametrize(
    ("preferred", "hints"),
    [
        ("PreferSameZone", {"forZones": [{"name": "z1"}]}),
        ("PreferSameNode", {"forNodes": [{"name": "n1"}], "forZones": [{"name": "z1"}]}),
    ],
)
def test_a_traffic_distribution_prefers_ready_endpoints_that_are_near(
    lab: Lab, preferred: str, hints: Body
) -> None:
    lab.node("n1", labels={"topology.kubernetes.io/zone": "z1"})
    service(lab, trafficDistribution=preferred)
    web_pods(lab, "a")
    (endpoint,) = endpoints(lab)
    assert endpoint["hints"] == hints
    lab.delete("Pod", "a")
    lab.settle()
    (endpoint,) = endpoints(lab)
    assert endpoint["conditions"]["terminating"] and "hints" not in endpoint

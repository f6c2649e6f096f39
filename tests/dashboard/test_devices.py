"""Which device a pod gets, and why not another one: on pages, in the API, and of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Create
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from tests.conftest import empty_tables
from tests.dashboard.conftest import ACTOR, add_pods, pod, shown

DRIVER = "gpu.example.com"
Body = dict[str, Any]


def device(name: str, **parts: Any) -> Body:
    model = parts.pop("model", "a100")
    return {"name": name, "attributes": {"model": {"string": model}}, **parts}


def make(cluster: Cluster, kind: str, name: str, spec: Body) -> None:
    found = kinds.by_name(kind)
    body = {"metadata": {"name": name}, "spec": spec}
    home = "default" if found.namespaced else ""
    store.write(cluster, [Create(found, body, home)], actor=ACTOR)


def claim(cluster: Cluster, name: str, *, constraints: Any = (), **exactly: Any) -> None:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", **exactly}}
    spec = {"devices": {"requests": [request], "constraints": list(constraints)}}
    make(cluster, "ResourceClaim", name, spec)


def selector(expression: str) -> list[Body]:
    return [{"cel": {"expression": expression}}]


@pytest.fixture(scope="module")
def lab(django_db_setup: None, django_db_blocker: Any) -> Iterator[Cluster]:
    """A node whose devices are refused for every kind of reason, and pods that wait for them."""
    with django_db_blocker.unblock():
        cluster = create_cluster("gpus", user="tests", tie_break="first-name", seed=1)
        for name in ("n0", "n1"):
            store.write(cluster, [Create(kinds.NODE, generate_node(name, "z"))], actor=ACTOR)
        make(cluster, "DeviceClass", "gpu", {"selectors": selector(f'device.driver == "{DRIVER}"')})
        consumes = [{"counterSet": "card", "counters": {"memory": {"value": "30Gi"}}}]
        taint = {"key": "broken", "value": "yes", "effect": "NoSchedule"}
        shared: Body = {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "8Gi"}}}
        devices = [
            device("gpu-0"),
            device("gpu-1", model="t4"),
            device("gpu-2", taints=[taint]),
            device("mig-0", model="mig", consumesCounters=consumes),
            device("mig-1", model="mig", consumesCounters=consumes),
            device("shared", model="l4", **shared),
        ]
        pool = {"name": "n0", "generation": 1, "resourceSliceCount": 2}
        counters = [{"name": "card", "counters": {"memory": {"value": "40Gi"}}}]
        of_node = {"driver": DRIVER, "nodeName": "n0", "pool": pool}
        make(cluster, "ResourceSlice", "n0-a", {**of_node, "sharedCounters": counters})
        make(cluster, "ResourceSlice", "n0-b", {**of_node, "devices": devices})
        model = f'device.attributes["{DRIVER}"].model'
        claim(cluster, "first", selectors=selector(f'{model} == "a100"'))
        claim(cluster, "second", selectors=selector(f'device.driver != "x" && {model} == "a100"'))
        claim(cluster, "mig", selectors=selector(f'{model} == "mig"'))
        claim(cluster, "more-mig", selectors=selector(f'{model} == "mig"'))
        big = {"requests": {"memory": "6Gi"}}
        for name in ("part", "rest"):
            claim(cluster, name, selectors=selector(f'{model} == "l4"'), capacity=big)
        same = [{"matchAttribute": f"{DRIVER}/model"}]
        claim(cluster, "pair", count=2, constraints=same)
        for name in ("first", "mig", "part"):
            add_pods(cluster, using(name))
        engines = Engines()
        engines.run(cluster.pk)
        for name in ("second", "more-mig", "rest", "pair", "missing"):
            add_pods(cluster, using(name))
        engines.run(cluster.pk)
        engines.close()
        cluster.refresh_from_db()
        yield cluster
        empty_tables()


def using(name: str) -> Body:
    body = pod(name, resourceClaims=[{"name": "c", "resourceClaimName": name}])
    body["spec"]["containers"][0]["resources"]["claims"] = [{"name": "c"}]
    return body


@pytest.fixture
def alice(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser("alice", password="of wonderland"))
    return client


def explanation(client: Client, what: str, **query: str) -> Body:
    found: Body = client.get(f"/api/v1/clusters/gpus/{what}/explanation", query).json()
    return found


def verdicts(found: Body) -> dict[str, list[str]]:
    """Device -> what says no to it."""
    return {
        cell["device"]: [f"{each['kind']}: {each['sentence']}" for each in cell["obstacles"]]
        for cell in found["devices"]["cells"]
    }


def test_the_matrix_names_the_term_and_the_holder(lab: Cluster, alice: Client) -> None:
    found = explanation(alice, "pods/default/second")
    assert "2 nodes has the devices that its claims request" in found["why_pending"]
    against = verdicts(found)
    assert against["gpu-0"] == ["allocated: it is allocated to claim default/first (pod first)"]
    (term,) = against["gpu-1"]
    assert term == (
        "selector: selector #0 of the request is not true: "
        f'device.attributes["{DRIVER}"].model == "a100"'
    )
    assert against["gpu-2"] == ["taint: its taint broken=yes:NoSchedule is not tolerated"]
    (request,) = found["devices"]["requests"]
    assert (request["usable"], request["devices"]) == (0, 6)
    assert request["obstacles"]["allocated"] == 2
    assert found["devices"]["is_complete"]


@pytest.mark.parametrize(
    ("name", "device", "sentence"),
    [
        (
            "more-mig",
            "mig-1",
            "counter: counter memory of card has 10Gi left, because of claim default/mig "
            "(pod mig), and it consumes 30Gi",
        ),
        (
            "rest",
            "shared",
            "capacity: it has 2Gi of memory left, and 6Gi is needed; it is shared by claim "
            "default/part (pod part)",
        ),
        (
            "pair",
            "gpu-1",
            f"constraint: matchAttribute {DRIVER}/model: 2 devices with the same value are "
            "needed, and 1 usable ones have t4",
        ),
    ],
)
def test_counters_capacity_and_constraints_say_no_with_figures(
    lab: Cluster, alice: Client, name: str, device: str, sentence: str
) -> None:
    found = explanation(alice, f"pods/default/{name}")
    assert sentence in verdicts(found)[device]


def test_changes_that_would_help_are_tried_with_the_real_search(
    lab: Cluster, alice: Client
) -> None:
    found = explanation(alice, "pods/default/second")["unblocking"]["suggestions"]
    sentences = [each["sentence"] for each in found]
    assert any(
        text.startswith("Delete pod default/first, which releases gpu-0") for text in sentences
    )
    assert "Tolerate the taints of devices in request gpu of claim default/second" in sentences
    pair = explanation(alice, "pods/default/pair")["unblocking"]["suggestions"]
    assert "Request 1 device instead of 2 in gpu of claim default/pair" in [
        each["sentence"] for each in pair
    ]
    # nothing of it is left in the state
    assert verdicts(explanation(alice, "pods/default/second"))["gpu-0"]


def test_a_pod_without_its_claim_says_which_one(lab: Cluster, alice: Client) -> None:
    found = explanation(alice, "pods/default/missing")
    assert found["why_pending"] == "It waits for ResourceClaim missing, which does not exist."
    sentences = [each["sentence"] for each in found["wake"]]
    assert (
        "A resource claim of the pod, or one that loses its allocation, is added or is updated"
        in sentences
    )


def test_a_decision_keeps_its_devices_and_explains_the_others(lab: Cluster, alice: Client) -> None:
    row = SchedulingDecision.objects.get(cluster=lab, name="first")
    found = explanation(alice, f"decisions/{row.pk}")
    (mine,) = found["claims"]
    assert [each["device"] for each in mine["devices"]] == ["gpu-0"]
    assert verdicts(found)["gpu-0"] == []
    page = shown(alice, f"/clusters/gpus/decisions/{row.pk}")
    assert "/clusters/gpus/objects/resourceclaims.resource.k8s.io/default/first" in page
    second = SchedulingDecision.objects.filter(cluster=lab, name="second").latest("id")
    found = explanation(alice, f"decisions/{second.pk}", node="n0")
    (answer,) = found["nodes"]
    assert (
        "request gpu: 1 device of class gpu requested, 0 of 6 devices usable" in answer["sentence"]
    )
    text = shown(alice, f"/clusters/gpus/decisions/{second.pk}/explanation?node=n0")
    assert "it is allocated to claim default/first (pod first)" in text


def test_pages_link_devices_claims_and_pods(lab: Cluster, alice: Client) -> None:
    waiting = shown(alice, "/clusters/gpus/pods/default/second/waiting")
    assert "Which device, and why not another one" in waiting
    assert "its taint broken=yes:NoSchedule is not tolerated" in waiting
    node = shown(alice, "/clusters/gpus/nodes/n0")
    assert '<a href="/clusters/gpus/pods/default/first">' in node
    assert node.count("broken=yes:NoSchedule") == 1
    assert "node-devices" not in shown(alice, "/clusters/gpus/nodes/n1")
    claims = "/clusters/gpus/objects/resourceclaims.resource.k8s.io/default/first"
    page = shown(alice, claims)
    assert '<a href="/clusters/gpus/pods/default/first">' in page and "gpu-0 of n0" in page
    slices = shown(alice, "/clusters/gpus/objects/resourceslices.resource.k8s.io/n0-b")
    assert claims in slices

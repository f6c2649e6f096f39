"""Decisions of pods with claims: the ledger keeps their devices, and they are recomputed equal."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Create, Delete
from apps.cluster.writing import store
from apps.engine.ledger.reading import read
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.studies import rebuilding
from tests.conftest import empty_tables
from tests.engine.driving import ACTOR, Body, configure, pod

NODES = 8
DRIVER = "gpu.example.com"


@pytest.fixture(scope="module")
def shop(django_db_setup: None, django_db_blocker: Any) -> Iterator[Cluster]:
    """Pods that compete for devices, with claims of every form."""
    with django_db_blocker.unblock():
        cluster = create_cluster("claims", user="tests", seed=3)
        clock.set_manual(cluster)
        configure(cluster, featureGates={"GenericWorkload": True, "GangScheduling": True})
        chance = random.Random(3)
        write(cluster, *devices())
        engines = Engines()
        for number in range(4):
            write(cluster, *pods(chance, number))
            engines.run(cluster.pk)
            names = [f"p-{number}-{place}" for place in range(0, 14, 5)]
            write(cluster, *(Delete(kinds.POD, "default", name) for name in names))
            clock.advance(cluster, 40)
            engines.run(cluster.pk)
        engines.close()
        cluster.refresh_from_db()
        yield cluster
        empty_tables()


def write(cluster: Cluster, *writes: Any) -> None:
    store.write(cluster, writes, actor=ACTOR, collect_refusals=False)


def make(kind: str, name: str, **parts: Any) -> Create:
    found = kinds.by_name(kind)
    body = {"metadata": {"name": name}, **parts}
    return Create(found, body, "default" if found.namespaced else "")


def devices() -> Iterator[Create]:
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    for number in range(NODES):
        name = f"n{number:02}"
        yield make("Node", name, status={"allocatable": amounts, "capacity": amounts})
        gpus: list[Body] = [
            {"name": f"gpu-{place}", "attributes": {"model": {"string": "ab"[number % 2]}}}
            for place in range(2)
        ]
        shared = {
            "name": "nic",
            "allowMultipleAllocations": True,
            "capacity": {"g": {"value": "4"}},
        }
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": [*gpus, shared]}
        yield make("ResourceSlice", name, spec=spec)
    for name in ("gpu", "nic"):
        expression = f"device.allowMultipleAllocations == {'true' if name == 'nic' else 'false'}"
        spec = {"selectors": [{"cel": {"expression": expression}}]}
        if name == "gpu":
            spec["extendedResourceName"] = "example.com/gpu"
        yield make("DeviceClass", name, spec=spec)
    yield make("ResourceClaimTemplate", "one", spec={"spec": claim({"deviceClassName": "gpu"})})
    nic = {"deviceClassName": "nic", "capacity": {"requests": {"g": "1"}}}
    yield make("ResourceClaimTemplate", "nic", spec={"spec": claim(nic)})
    wanted = [{"name": each, **gpu(each)} for each in "ab"]
    either = {"devices": {"requests": [{"name": "r", "firstAvailable": wanted}]}}
    yield make("ResourceClaimTemplate", "either", spec={"spec": either})
    yield make("ResourceClaim", "shared", spec=claim({"deviceClassName": "gpu"}))
    yield make("PodGroup", "gang", spec={"schedulingPolicy": {"gang": {"minCount": 3}}})


def gpu(model: str) -> Body:
    expression = f'device.attributes["{DRIVER}"].model == "{model}"'
    return {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": expression}}]}


def claim(exactly: Body) -> Body:
    return {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}


def pods(chance: random.Random, number: int) -> Iterator[Create]:
    for place in range(14):
        body = pod(f"p-{number}-{place}")
        form = chance.choice(("one", "nic", "either", "shared", "extended", "none"))
        if form == "extended":
            resources = body["spec"]["containers"][0]["resources"]
            resources["requests"]["example.com/gpu"] = resources.setdefault("limits", {})[
                "example.com/gpu"
            ] = "1"
        elif form == "shared":
            body["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": "shared"}]
        elif form != "none":
            body["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimTemplateName": form}]
        yield Create(kinds.POD, body, "default")
    if number == 1:
        for place in range(4):
            body = pod(f"member-{place}", schedulingGroup={"podGroupName": "gang"})
            body["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimTemplateName": "one"}]
            yield Create(kinds.POD, body, "default")


def rows(cluster: Cluster) -> list[SchedulingDecision]:
    return list(SchedulingDecision.objects.filter(cluster=cluster).order_by("id"))


def test_the_ledger_keeps_the_devices_of_every_claim(shop: Cluster, db: None) -> None:
    counts: Counter[str] = Counter()
    for row in rows(shop):
        for each in read(row).decision.claims:
            counts["known"] += each.is_known
            counts["created"] += "-extended-resources-" in each.name
            for result in each.allocation.devices.results:
                assert result.pool == row.node or row.result != "scheduled"
                counts[result.device] += 1
                counts["alternative"] += "/" in result.request
    assert min(counts[name] for name in ("known", "created", "nic", "gpu-1", "alternative")) > 0
    unschedulable = [row for row in rows(shop) if row.result == "unschedulable"]
    assert any("cannot allocate all claims" in row.message for row in unschedulable)


def test_decisions_of_pods_with_claims_are_recomputed_equal(shop: Cluster, db: None) -> None:
    assert sum(row.sequence > 0 for row in rows(shop)) > 30
    state: rebuilding.PastState | None = None
    for row in rows(shop):
        if state is None or not state.can_advance_to(row):
            state = rebuilding.rebuild_state_before(row)
        again = rebuilding.recompute(row, state)
        assert rebuilding.compare(read(row).decision, again) == [], f"{row} ({row.pk})"


def test_one_decision_alone_sees_the_allocations_before_it(shop: Cluster, db: None) -> None:
    with_claims = [row for row in rows(shop) if read(row).decision.claims and row.sequence]
    for row in with_claims[::6]:
        again = rebuilding.recompute(row)
        assert rebuilding.compare(read(row).decision, again) == [], f"{row} ({row.pk})"

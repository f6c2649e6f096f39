"""A POST with an Idempotency-Key may be sent again without creating a second object."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from apps.cluster.models import Change, Cluster
from tests.api.conftest import Kube
from tests.api.objects import PODS, pod

KEY = {"Idempotency-Key": "order-66"}


def generated() -> dict[str, Any]:
    body = pod("")
    body["metadata"] = {"generateName": "worker-"}
    return body


@pytest.mark.django_db
def test_the_same_request_gets_the_same_object(kube: Kube, cluster: Cluster) -> None:
    for body in (pod("p1"), generated()):
        first = kube.post(PODS, body, headers=KEY)
        second = kube.post(PODS, body, headers=KEY)
        assert (first.status_code, second.status_code) == (201, 201)
        assert first.json() == second.json()
    assert Change.objects.filter(cluster=cluster, kind="Pod", type="ADDED").count() == 2


@pytest.mark.django_db
def test_a_deleted_object_is_not_created_again(kube: Kube) -> None:
    first = kube.post(PODS, pod("p1"), headers=KEY)
    kube.delete(f"{PODS}/p1")
    assert kube.post(PODS, pod("p1"), headers=KEY).json() == first.json()
    assert kube.get(f"{PODS}/p1").status_code == 404


@pytest.mark.django_db
def test_another_key_or_another_body_is_another_request(kube: Kube) -> None:
    kube.post(PODS, pod("p1"), headers=KEY)
    other = pod("p1")
    other["metadata"]["labels"] = {"app": "web"}
    for body, headers in ((pod("p1"), {"Idempotency-Key": "order-67"}), (other, KEY)):
        assert kube.post(PODS, body, headers=headers).status_code == 409
    names = {
        kube.post(PODS, generated(), headers={"Idempotency-Key": key}).json()["metadata"]["name"]
        for key in ("a", "b", "a")
    }
    assert len(names) == 2


@pytest.mark.django_db
def test_a_dry_run_leaves_the_key_for_the_real_request(kube: Kube) -> None:
    kube.post(f"{PODS}?dryRun=All", pod("p1"), headers=KEY)
    assert kube.post(PODS, pod("p1"), headers=KEY).status_code == 201
    assert kube.get(f"{PODS}/p1").status_code == 200


@pytest.mark.django_db
def test_a_generated_name_that_another_object_has_is_drawn_again(kube: Kube) -> None:
    first = kube.post(PODS, generated(), headers=KEY).json()["metadata"]
    # the change log remembers it no longer
    Change.objects.filter(uid=first["uid"]).delete()
    second = kube.post(PODS, generated(), headers=KEY)
    assert second.status_code == 201
    assert second.json()["metadata"]["name"] != first["name"]
    assert kube.post(PODS, generated(), headers=KEY).json() == second.json()


@pytest.mark.django_db
def test_a_key_that_is_too_long_is_refused(kube: Kube) -> None:
    answer = kube.post(PODS, pod("p1"), headers={"Idempotency-Key": "k" * 256})
    assert answer.status_code == 400
    assert "Idempotency-Key must have 1 to 255 characters" in answer.json()["message"]
    assert kube.get(f"{PODS}/p1").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_the_same_request_sent_twice_at_once_creates_one_object(
    kube: Kube, cluster: Cluster
) -> None:
    def send(_: int) -> dict[str, Any]:
        try:
            answer = kube.post(PODS, generated(), headers=KEY)
            assert answer.status_code == 201
            created: dict[str, Any] = answer.json()
            return created
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(send, range(8)))
    assert all(answer == answers[0] for answer in answers)
    assert Change.objects.filter(cluster=cluster, kind="Pod", type="ADDED").count() == 1

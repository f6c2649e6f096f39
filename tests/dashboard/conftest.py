"""A cluster with pods in every state, and an authenticated user."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.loop.engines import Engines
from tests.conftest import empty_tables

ACTOR = Actor("alice", "request-7")


def pod(name: str, *, cpu: str = "500m", **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    container = {"name": "main", "image": "example/main:1", "resources": resources}
    metadata = {"name": name, "labels": {"app": name.split("-")[0]}}
    return {"metadata": metadata, "spec": {"containers": [container], **spec}}


def add_pods(cluster: Cluster, *bodies: dict[str, Any]) -> None:
    writes = [Create(kinds.POD, body, "default") for body in bodies]
    store.write(cluster, writes, actor=ACTOR)


def shown(client: Client, address: str) -> str:
    """A page without the whitespace around its tags, on one line."""
    text = " ".join(client.get(address).content.decode().split())
    return re.sub(r" ?([<>]) ?", r"\1", text)


@pytest.fixture
def alice(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("alice", password="of wonderland"))
    return client


@pytest.fixture
def empty(db: None) -> Cluster:
    return create_cluster("bare", user="alice")


@pytest.fixture(scope="module")
def shared_lab(django_db_setup: None, django_db_blocker: Any) -> Iterator[Cluster]:
    """`lab`, created once per module; tests change it only in transactions that are rolled back."""
    with django_db_blocker.unblock():
        cluster = create_lab()
    yield cluster
    with django_db_blocker.unblock():
        empty_tables()


@pytest.fixture
def lab(shared_lab: Cluster, db: None) -> Cluster:
    shared_lab.refresh_from_db()
    return shared_lab


def create_lab() -> Cluster:
    """Three ordinary nodes and a dedicated one; web-0 to web-2 are bound, the others pending."""
    cluster = create_cluster("lab", user="alice", nodes=3, zones=3, tie_break="first-name")
    dedicated = generate_node("gpu-1", "zone-1")
    dedicated["spec"] = {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]}
    dedicated["status"]["allocatable"]["example.com/gpu"] = "4"
    store.create(cluster, kinds.NODE, dedicated, actor=ACTOR)
    add_pods(
        cluster,
        *(pod(f"web-{number}") for number in range(3)),
        pod("huge", cpu="100"),
        pod("held", schedulingGates=[{"name": "example.com/quota"}]),
        pod("foreign", schedulerName="another-scheduler"),
    )
    Engines().run(cluster.pk)
    return cluster

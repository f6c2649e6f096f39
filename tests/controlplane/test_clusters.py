"""Deleting a cluster, whoever is at work in it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster, Node
from apps.controlplane.clusters import create_cluster, delete_cluster
from tests.stack.house import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", nodes=3)


def delete_elsewhere(cluster: Cluster) -> None:
    """As another process would, on a connection of its own."""
    try:
        delete_cluster(cluster)
    finally:
        connection.close()


def is_somebody_waiting() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return cursor.fetchone() != (0,)


@pytest.mark.parametrize("locked", ["controlplane_looplease", "cluster_node"])
def test_whoever_is_writing_finishes_first(cluster: Cluster, locked: str) -> None:
    """Every writer takes the counter last, the loop its lease first: neither gets in a deadlock."""
    with ThreadPoolExecutor(1) as other:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SELECT FROM {locked} WHERE cluster_id = %s FOR UPDATE", [cluster.pk])
            deleting = other.submit(delete_elsewhere, cluster)
            wait_until(is_somebody_waiting)
            cursor.execute(
                "UPDATE cluster_cluster SET resource_version = resource_version + 1 WHERE id = %s",
                [cluster.pk],
            )
        deleting.result(timeout=30)
    assert not Cluster.objects.exists()
    assert not Node.objects.exists()


def test_a_cluster_is_deleted_once(cluster: Cluster) -> None:
    delete_cluster(cluster)
    with pytest.raises(NotFound, match="lab"):
        delete_cluster(cluster)

"""Creating and deleting a cluster while others write."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from apps.administration.clusters import lifecycle
from apps.administration.clusters.lifecycle import create_cluster, delete_cluster
from apps.cluster.errors import AlreadyExists, NotFound
from apps.cluster.models import Cluster, Node
from tests.stack.running_site import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", nodes=3)


def run_separately(action: Callable[[], object]) -> None:
    """Run an action on a connection of its own, as another process would."""
    try:
        action()
    finally:
        connection.close()


def is_any_lock_waiting() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return cursor.fetchone() != (0,)


@pytest.mark.parametrize("locked", ["controlplane_looplease", "cluster_node"])
def test_a_deletion_waits_for_writers(cluster: Cluster, locked: str) -> None:
    """Writers lock the counter last and the loop locks its lease first, so there is no deadlock."""
    with ThreadPoolExecutor(1) as other:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SELECT FROM {locked} WHERE cluster_id = %s FOR UPDATE", [cluster.pk])
            deleting = other.submit(run_separately, lambda: delete_cluster(cluster))
            wait_until(is_any_lock_waiting)
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


def test_of_two_concurrent_creations_with_the_same_name_one_is_rejected() -> None:
    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            create_cluster("lab", user="first")
            second = other.submit(run_separately, lambda: create_cluster("lab", user="second"))
            wait_until(is_any_lock_waiting)
        with pytest.raises(AlreadyExists, match="lab"):
            second.result(timeout=30)
    assert Cluster.objects.count() == 1


def test_nodes_are_created_in_time_that_grows_with_their_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each batch of nodes reads none of those before it, although tables have no statistics yet."""
    monkeypatch.setattr(lifecycle, "_BATCH", 100)
    with transaction.atomic(), connection.cursor() as cursor:
        create_cluster("lab", user="tests", nodes=400)
        cursor.execute(
            "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables "
            "WHERE relname = 'cluster_node'"
        )
        (read,) = cursor.fetchone()
    # the taints of each node are taken from its row
    assert read <= 2 * 400

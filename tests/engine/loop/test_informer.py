"""How the informer reads a cluster."""

from __future__ import annotations

import pytest
from django.db import connection

from apps.administration.clusters.lifecycle import create_cluster
from apps.engine.loop.informer import Informer
from apps.scheduler.objects import KubeObject
from tests.engine.driving import create_pods, pod


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_objects_are_processed() -> None:
    """The database aborts idle transactions, and many objects take a while."""
    cluster = create_cluster("lab", user="tests", nodes=3)
    create_pods(cluster, pod("waiting"), pod("bound", nodeName="node-0"))
    seen: list[tuple[str, bool]] = []

    def handle(
        kind: str, old: KubeObject | None, new: KubeObject | None, at: float | None = None
    ) -> None:
        seen.append((kind, connection.in_atomic_block))

    Informer(cluster.pk, handle).load()
    assert {"Node", "Pod"} <= {kind for kind, _ in seen}
    assert not any(is_open for _, is_open in seen)

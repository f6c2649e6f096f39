"""Clusters of the lab's tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster
from apps.engine.loop.engines import Engines
from tests.engine.driving import create_pods


@pytest.fixture
def cluster() -> Cluster:
    """Three nodes of 8 CPUs in three zones; ties are broken by name."""
    return create_cluster("lab", user="alice", nodes=3, zones=3, tie_break="first-name")


@pytest.fixture
def schedule(cluster: Cluster) -> Callable[..., None]:
    """Creates pods, and runs the loop until nothing is left to do."""

    def create(*pods: dict[str, Any]) -> None:
        create_pods(cluster, *pods)
        Engines().run(cluster.pk)
        cluster.refresh_from_db()

    return create


@pytest.fixture
def row_counts() -> Callable[[], dict[str, int]]:
    """The number of rows of every table."""
    return lambda: {
        model._meta.db_table: model._base_manager.count() for model in apps.get_models()
    }

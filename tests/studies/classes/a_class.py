"""A class for tests, pages and examples."""

from __future__ import annotations

from typing import Any

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store

EXERCISE = """\
title: A label
task: Label node-0 with disk=ssd, and create the pod `db` on it.
checks:
  - {say: node-0 has the label, node: node-0, is: {metadata: {labels: {disk: ssd}}}}
  - {say: db runs on a node with it, pod: db, bound: 1, nodes: {disk: ssd}}
"""


def config_map(name: str, **data: str) -> Create:
    body: dict[str, Any] = {"metadata": {"name": name}, "data": data}
    return Create(kinds.by_name("ConfigMap"), body, "default")


def create_class(name: str, *, user: str, exercise: str = EXERCISE) -> Cluster:
    """A class with one exercise and the student ann, and one whose exercise is no exercise."""
    wrong = create_cluster("wrong", user=user)
    store.write(wrong, [config_map("exercise-01", exercise="title: 1")], actor=Actor(user))
    cluster = create_cluster(name, user=user)
    store.write(cluster, [config_map("exercise-01", exercise=exercise)], actor=Actor(user))
    create_cluster(f"{name}-01-ann", user=user, nodes=1)
    return cluster

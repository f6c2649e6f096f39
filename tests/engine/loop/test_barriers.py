"""Nothing that was created after an activation or a setting is acted on as before it."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import pytest

from apps.administration.clusters.lifecycle import create_cluster, pause
from apps.administration.clusters.settings import change_settings
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.controllers.manager import Controllers
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from tests.engine.driving import ACTOR, configure, create_pods, pod

LABELS = {"app": "web"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
WEB = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"matchLabels": LABELS}, "template": TEMPLATE},
}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("c1", user="tests", nodes=1)


def run_with(cluster: Cluster, engines: Engines, between: Callable[[], None]) -> None:
    """Run the loop; `between` happens once, before controllers write."""
    acts = Controllers.act
    pending = [between]

    def act(manager: Controllers) -> bool:
        if pending:
            pending.pop()()
        return acts(manager)

    with patch.object(Controllers, "act", act):
        for _ in range(20):
            if not engines.run(cluster.pk):
                return


def add_node(cluster: Cluster) -> None:
    """A node that its kubelet has to register: a write of controllers."""
    node = generate_node("new", "zone-1")
    del node["status"]
    store.create(cluster, kinds.NODE, node, actor=ACTOR)


def test_a_pod_created_after_an_activation_is_decided_by_that_revision(cluster: Cluster) -> None:
    engines = Engines()
    engines.run(cluster.pk)
    add_node(cluster)

    def activate() -> None:
        configure(cluster, profiles=[{"schedulerName": "default-scheduler"}])
        create_pods(cluster, pod("later"))

    run_with(cluster, engines, activate)
    decisions = SchedulingDecision.objects.filter(cluster=cluster, name="later")
    assert [each.profile_revision for each in decisions] == [2]


def test_a_pod_created_after_a_pause_is_not_decided(cluster: Cluster) -> None:
    engines = Engines()
    engines.run(cluster.pk)
    add_node(cluster)

    def stop() -> None:
        pause(cluster)
        create_pods(cluster, pod("later"))

    run_with(cluster, engines, stop)
    assert not SchedulingDecision.objects.filter(cluster=cluster, name="later").exists()


def test_a_deployment_created_after_controllers_were_turned_off_is_left_alone(
    cluster: Cluster,
) -> None:
    engines = Engines()
    engines.run(cluster.pk)
    add_node(cluster)

    def turn_off() -> None:
        change_settings(cluster, {"controllers": False})
        store.create(cluster, kinds.by_name("Deployment"), WEB, actor=ACTOR)

    run_with(cluster, engines, turn_off)
    assert not kinds.by_name("ReplicaSet").objects(cluster).exists()
    change_settings(cluster, {"controllers": True})
    engines.run(cluster.pk)
    assert kinds.by_name("ReplicaSet").objects(cluster).exists()

"""The loop knows its own writes without reading them: it knows the same as a reader of the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from apps.cluster import kinds, queries
from apps.cluster.models import Change, Cluster, Pod
from apps.cluster.writes import Create
from apps.cluster.writing import store
from apps.controlplane.clusters.lifecycle import create_cluster
from apps.controlplane.loop.engine import Engine
from apps.controlplane.loop.engines import Engines
from apps.controlplane.loop.informer import Informer
from apps.controlplane.workers import lease
from apps.scheduler.objects import KubeObject
from tests.controlplane.driving import ACTOR, create_pods, node_of, pod, status_of

pytestmark = pytest.mark.django_db(transaction=True)

Body = dict[str, Any]
Seen = list[tuple[str, KubeObject | None, KubeObject | None]]


@pytest.fixture
def engines() -> Iterator[Engines]:
    started = Engines()
    yield started
    started.close()


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", nodes=3, zones=3)


def engine_of(engines: Engines, cluster: Cluster) -> Engine:
    return engines._warm[cluster.pk]


def follow(cluster: Cluster) -> tuple[Informer, Seen]:
    """A reader that has read the log so far, and what it sees later."""
    seen: Seen = []

    def handle(
        kind: str, old: KubeObject | None, new: KubeObject | None, at: float | None = None
    ) -> None:
        seen.append((kind, old, new))

    informer = Informer(cluster.pk, handle)
    informer.load()
    seen.clear()
    return informer, seen


def record_seen(monkeypatch: pytest.MonkeyPatch, engine: Engine) -> Seen:
    """What the engine's scheduler is told from now on."""
    seen: Seen = []
    handle = engine.informer.handle

    def tell(
        kind: str, old: KubeObject | None, new: KubeObject | None, at: float | None = None
    ) -> None:
        seen.append((kind, old, new))
        handle(kind, old, new, at)

    monkeypatch.setattr(engine.informer, "handle", tell)
    return seen


def run(engines: Engines, cluster: Cluster) -> None:
    while engines.run(cluster.pk):
        pass


def claim(name: str) -> Body:
    resources = {"requests": {"storage": "1Gi"}}
    return {
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources},
    }


def deployment(name: str, replicas: int) -> Body:
    labels = {"app": name}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }


def create(cluster: Cluster, kind: str, body: Body) -> None:
    store.write(cluster, [Create(kinds.by_name(kind), body, "default")], actor=ACTOR)


def mount(name: str) -> Body:
    return {"name": "data", "persistentVolumeClaim": {"claimName": name}}


def plain_pods(cluster: Cluster) -> None:
    sidecar = {"name": "s", "image": "j", "restartPolicy": "Always"}
    create_pods(
        cluster,
        pod("plain"),
        pod("host", hostNetwork=True),
        pod("steps", initContainers=[{"name": "first", "image": "k"}, sidecar]),
        {**pod("named"), "metadata": {"name": "named", "labels": {"ü": "ß"}, "annotations": {}}}
        if False
        else {**pod("named"), "metadata": {"name": "named", "labels": {"app": "x"}}},
    )


def unschedulable_pods(cluster: Cluster) -> None:
    create_pods(cluster, pod("fits"), pod("large", cpu="1000"))


def preempting_pods(cluster: Cluster) -> None:
    create_pods(cluster, *(pod(f"low-{number}", cpu="20") for number in range(3)))


def mounted_claims(cluster: Cluster) -> None:
    create(cluster, "PersistentVolumeClaim", claim("data"))
    create_pods(cluster, pod("stateful", volumes=[mount("data")]), pod("beside"))


def workloads(cluster: Cluster) -> None:
    create(cluster, "Deployment", deployment("web", 3))


def rejected_pods(cluster: Cluster) -> None:
    """The kubelet admits pods in the order of their arrival; pods without a scheduler too."""
    create_pods(cluster, pod("placed", cpu="31", nodeName="node-0"))
    create_pods(cluster, pod("refused", cpu="31", nodeName="node-0"), pod("other", cpu="1"))


@pytest.mark.parametrize(
    "scenario",
    [plain_pods, unschedulable_pods, preempting_pods, mounted_claims, workloads, rejected_pods],
)
def test_a_loop_is_told_the_same_as_a_reader_of_the_log(
    scenario: Callable[[Cluster], None],
    cluster: Cluster,
    engines: Engines,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(engines, cluster)
    engine = engine_of(engines, cluster)
    reader, read = follow(cluster)
    told = record_seen(monkeypatch, engine)
    scenario(cluster)
    run(engines, cluster)
    reader.catch_up()
    assert reader.position == engine.informer.position
    assert told == read
    assert any(kind == "Pod" for kind, _, _ in told)

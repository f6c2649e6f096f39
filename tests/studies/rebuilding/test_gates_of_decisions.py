"""A past decision is rebuilt with the feature gates of its own revision."""

from __future__ import annotations

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.writes import Create
from apps.cluster.writing import store
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.engine.profiles import revisions
from apps.studies import rebuilding
from tests.engine.driving import ACTOR, create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)

WITHOUT_POD_LEVEL = revisions.BUILT_IN + (
    "featureGates: {PodLevelResources: false, InPlacePodLevelResourcesVerticalScaling: false}\n"
)


def test_a_decision_keeps_the_gates_of_its_revision() -> None:
    """The 8 CPUs of the pod as a whole count in revision 1, only its container in revision 2."""
    cluster = create_cluster("lab", user="tests", kubelet=False)
    node = {
        "metadata": {"name": "only"},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    store.write(cluster, [Create(kinds.NODE, node)], actor=ACTOR)
    engines = Engines()
    large = {"requests": {"cpu": "8"}, "limits": {"cpu": "8"}}
    revisions.add_revision(cluster, WITHOUT_POD_LEVEL, user="tests")
    create_pods(cluster, pod("first", cpu="1", resources=large))
    engines.run(cluster.pk)
    revisions.activate(cluster, 1)
    create_pods(cluster, pod("second", cpu="1", resources=large))
    engines.run(cluster.pk)
    engines.close()
    rows = SchedulingDecision.objects.filter(cluster=cluster).order_by("id")
    found = {row.name: (row.profile_revision, row.node) for row in rows}
    assert found == {"first": (2, "only"), "second": (1, "")}
    for row in rows:
        assert rebuilding.compare(read(row).decision, rebuilding.recompute(row)) == []

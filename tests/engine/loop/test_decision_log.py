"""The log lines about decisions, and the request they name."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Change, Cluster
from apps.engine.loop import decision_log
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from tests.engine.driving import create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", nodes=3, zones=3, tie_break="first-name")


def read_lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, Any]]]:
    """(message, fields) of every line about decisions."""
    name = decision_log.log.name
    return [(r.getMessage(), vars(r)["fields"]) for r in caplog.records if r.name == name]


@pytest.fixture(autouse=True)
def log_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def test_a_request_can_be_followed_from_its_post_to_the_decision(
    cluster: Cluster, admin_client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    response = admin_client.post(
        "/k8s/lab/api/v1/namespaces/default/pods",
        pod("p0"),
        content_type="application/json",
        headers={"X-Request-ID": "from-the-client-7"},
    )
    assert response.status_code == 201
    assert response.headers["X-Request-ID"] == "from-the-client-7"
    Engines().run(cluster.pk)
    added = Change.objects.get(cluster=cluster, kind="Pod", type="ADDED")
    assert added.request_id == "from-the-client-7"
    assert SchedulingDecision.objects.get().request_id == "from-the-client-7"
    (record,) = [each for each in caplog.records if each.name == decision_log.log.name]
    assert vars(record)["request_id"] == "from-the-client-7"
    assert (
        vars(record)["fields"] | {"pod": "default/p0", "cluster": "lab"} == vars(record)["fields"]
    )


def test_a_batch_is_one_line_with_its_results(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    create_pods(cluster, *(pod(f"p{n}") for n in range(6)), pod("huge", cpu="900"))
    Engines().run(cluster.pk)
    ((message, fields),) = read_lines(caplog)
    assert message == "Committed a batch of decisions"
    assert fields == {
        "cluster": "lab",
        "scheduled": 6,
        "unschedulable": 1,
        "pods": "default/p0, default/p1, default/p2, default/p3, default/p4, and 2 more",
    }


def test_at_verbosity_2_each_decision_has_a_line(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    settings.VERBOSITY = 2
    create_pods(cluster, pod("p0"), pod("huge", cpu="900"))
    Engines().run(cluster.pk)
    (bound, bound_fields), (refused, refused_fields) = read_lines(caplog)
    assert (bound, bound_fields["node"]) == ("Bound the pod", "node-0")
    assert refused == "Unable to schedule the pod"
    assert refused_fields["reason"].startswith("0/3 nodes are available: 3 Insufficient cpu.")


def test_at_the_highest_verbosity_each_score_has_a_line(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    settings.VERBOSITY = 10
    create_pods(cluster, pod("p0"))
    Engines().run(cluster.pk)
    scores = [
        fields for message, fields in read_lines(caplog) if message == "Plugin scored node for pod"
    ]
    sums = [fields for message, fields in read_lines(caplog) if message.startswith("Calculated")]
    assert {fields["node"] for fields in scores} == {"node-0", "node-1", "node-2"}
    assert {"NodeResourcesFit", "TaintToleration"} <= {fields["plugin"] for fields in scores}
    fit = next(e for e in scores if (e["plugin"], e["node"]) == ("NodeResourcesFit", "node-1"))
    assert fit["rawScore"] == fit["normalizedScore"] == fit["score"]
    assert fit["inputs"][0].startswith("cpu: 0 requested on the node + 0.1 of the pod = 0.1 of 8")
    taints = next(each for each in scores if each["plugin"] == "TaintToleration")
    assert taints["normalization"] == ["the raw score of every node is 0: each has 100"]
    maps = [f for message, f in read_lines(caplog) if message.startswith("Listed the allocatable")]
    of_fit = next(e for e in maps if (e["plugin"], e["node"]) == ("NodeResourcesFit", "node-1"))
    assert of_fit["allocatableResource"]["cpu"] == "8"
    assert of_fit["requestedResource"]["cpu"] == "0.1"
    of_one = sum(fields["score"] for fields in scores if fields["node"] == "node-1")
    assert [fields["score"] for fields in sums if fields["node"] == "node-1"] == [of_one]


def test_at_verbosity_0_successful_batches_are_not_logged(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    settings.VERBOSITY = 0
    create_pods(cluster, pod("p0"), pod("huge", cpu="900"))
    Engines().run(cluster.pk)
    assert read_lines(caplog) == []

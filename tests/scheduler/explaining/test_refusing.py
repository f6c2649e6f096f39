"""What is said of a node that refuses a pod: by every plugin that does, the decisive one first."""

from __future__ import annotations

import pytest

from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.helper.resource_text import amount
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.cycle import add, explained


def test_every_plugin_that_refuses_the_node_explains_itself(scheduler: Scheduler) -> None:
    node = make_node("n").capacity(cpu="4", pods=9).taint("dedicated", "gpu").unschedulable()
    add(scheduler, node.label("disk", "hdd"))
    assert explained(scheduler, make_pod().node_selector({"disk": "ssd"}).req(cpu="9")) == [
        "NodeUnschedulable: the node is cordoned",
        "TaintToleration: the pod does not tolerate the taint dedicated=gpu:NoSchedule",
        "NodeAffinity: the node selector requires disk=ssd: the node has disk=hdd",
        "NodeResourcesFit: needs cpu 9, free 4 of 4: exceeds the node's allocatable cpu",
    ]


def test_a_node_that_passes_is_not_explained(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n"))
    assert explained(scheduler, make_pod()) == []


def test_a_rejection_for_every_node_is_explained_by_its_reasons(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n"))
    assert explained(scheduler, make_pod().claims("gone")) == [
        'VolumeRestrictions: persistentvolumeclaim "gone" not found'
    ]


def test_nodes_that_the_pod_does_not_name_are_left_out_by_prefilter(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n"), make_node("m"))
    assert explained(scheduler, make_pod().node_names("m"))[0] == (
        "NodeAffinity: the pod's required node affinity names only m"
    )


def test_what_only_nominated_pods_stand_against_comes_last(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n").capacity(cpu="4").taint("gpu"))
    promised = make_pod("vip").uid("vip").req(cpu="4").priority(5).nominated("n").obj()
    scheduler.queue.add_nominated_pod(PodInfo(promised))
    assert explained(scheduler, make_pod().req(cpu="1")) == [
        "TaintToleration: the pod does not tolerate the taint gpu:NoSchedule",
        "NodeResourcesFit: needs cpu 1, free 0 of 4; requested by default/vip (4, nominated)",
    ]


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 1500, "1.5"),
        ("cpu", 2000, "2"),
        ("cpu", 1, "0.001"),
        ("memory", 3 << 29, "1.5Gi"),
        ("memory", 1 << 20, "1Mi"),
        ("memory", 1000, "1000"),
        ("example.com/gpu", 4, "4"),
    ],
)
def test_amounts_are_exact_and_short(resource: str, value: int, text: str) -> None:
    assert amount(resource, value) == text

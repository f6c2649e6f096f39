"""What is said of a node that refuses a pod: exact figures, and who holds what is missing."""

from __future__ import annotations

import pytest

from apps.scheduler.explaining.amounts import amount
from apps.scheduler.explaining.refusing import refusals_at
from apps.scheduler.explaining.sight import look
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.conftest import NewScheduler


@pytest.fixture
def scheduler(new_scheduler: NewScheduler) -> Scheduler:
    """Three nodes in two zones, and some pods on them."""
    found = new_scheduler()
    for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b")):
        node = make_node(name).capacity(cpu="4", memory="8Gi", pods=4).label("zone", zone)
        found.cache.add_node(node.label("disk", "hdd").obj())
    for name, cpu in (("big", "1500m"), ("small", "1")):
        pod = make_pod(name).uid(name).req(cpu=cpu, memory="1Gi").label("app", "web").on("n1")
        found.cache.add_pod(PodInfo(pod.obj()))
    return found


def said(scheduler: Scheduler, pod: Pod, node: str = "n1") -> list[str]:
    """Every sentence about a node, after the name of the plugin."""
    sight = look(scheduler, PodInfo(pod))
    return [
        f"{refusal.plugin}: {detail.sentence}"
        for refusal in refusals_at(sight, scheduler.snapshot.row_of(node))
        for detail in refusal.details
    ]


def test_a_resource_that_is_short_tells_what_is_free_and_who_holds_it(
    scheduler: Scheduler,
) -> None:
    assert said(scheduler, make_pod().req(cpu="2").obj()) == [
        "NodeResourcesFit: needs cpu 2, free 1.5 of 4; held by default/big (1.5), default/small (1)"
    ]


def test_what_no_node_of_this_size_could_give_is_told_as_such(scheduler: Scheduler) -> None:
    assert said(scheduler, make_pod().req({"cpu": "9", "example.com/gpu": 1}).obj()) == [
        "NodeResourcesFit: needs cpu 9, free 1.5 of 4: more than the whole node",
        "NodeResourcesFit: needs example.com/gpu 1, and the node has none",
    ]


def test_room_promised_to_a_nominated_pod_is_counted_and_named(scheduler: Scheduler) -> None:
    promised = make_pod("vip").uid("vip").req(cpu="1").priority(5).nominated("n1").obj()
    scheduler.queue.add_nominated_pod(PodInfo(promised))
    assert said(scheduler, make_pod().req(cpu="1").obj()) == [
        "NodeResourcesFit: needs cpu 1, free 0.5 of 4; "
        "held by default/big (1.5), default/small (1), default/vip (1, nominated)"
    ]


def test_places_for_pods_run_out_like_any_resource(scheduler: Scheduler) -> None:
    for name in ("third", "fourth"):
        scheduler.cache.add_pod(PodInfo(make_pod(name).uid(name).on("n1").obj()))
    assert said(scheduler, make_pod().obj()) == ["NodeResourcesFit: has 4 pods and takes 4"]


def test_taints_labels_and_a_cordon_are_all_told_not_only_the_first(scheduler: Scheduler) -> None:
    node = make_node("n4").capacity(cpu="4", pods=9).taint("dedicated", "gpu").unschedulable()
    scheduler.cache.add_node(node.label("disk", "hdd").obj())
    pod = make_pod().node_selector({"disk": "ssd", "gen": "3"}).obj()
    assert said(scheduler, pod, "n4") == [
        "NodeUnschedulable: the node is cordoned",
        "TaintToleration: the pod does not tolerate the taint dedicated=gpu:NoSchedule",
        "NodeAffinity: the node selector wants disk=ssd: the node has disk=hdd",
        "NodeAffinity: the node selector wants gen=3: the node has no label gen",
    ]


def test_required_node_affinity_tells_each_requirement_that_fails(scheduler: Scheduler) -> None:
    pod = make_pod().node_affinity_in("disk", "ssd", "nvme").obj()
    assert said(scheduler, pod) == [
        "NodeAffinity: required node affinity, term 1: wants disk In (ssd, nvme): "
        "the node has disk=hdd"
    ]


def test_host_ports_name_the_pod_that_has_them(scheduler: Scheduler) -> None:
    holder = make_pod("holder").uid("holder").host_port(8080).on("n2").obj()
    scheduler.cache.add_pod(PodInfo(holder))
    assert said(scheduler, make_pod().host_port(8080).obj(), "n2") == [
        "NodePorts: host port TCP 8080 is taken by default/holder"
    ]


def test_a_spread_constraint_tells_counts_and_skew(scheduler: Scheduler) -> None:
    pod = make_pod().label("app", "web").spread("zone", {"app": "web"}).obj()
    assert said(scheduler, pod) == [
        "PodTopologySpread: spread constraint 1 (zone, maxSkew 1): a has 2 matching pods, the "
        "fewest count as 0; one more there makes a skew of 3 (pods by domain: b 0, a 2)"
    ]


def test_affinity_tells_which_term_and_about_whom(scheduler: Scheduler) -> None:
    near = make_pod().pod_affinity("zone", {"app": "web"}).obj()
    assert said(scheduler, near, "n3") == [
        "InterPodAffinity: affinity term 1 wants pods with app=web in the same zone: "
        "there are none in b"
    ]
    apart = make_pod().pod_anti_affinity("zone", {"app": "web"}).obj()
    assert said(scheduler, apart, "n2") == [
        "InterPodAffinity: anti-affinity term 1 keeps away from pods with app=web in the same "
        "zone=a: default/big, default/small"
    ]


def test_pods_that_keep_others_away_are_named(scheduler: Scheduler) -> None:
    loner = make_pod("loner").uid("loner").pod_anti_affinity("zone", {"app": "web"}).on("n3")
    scheduler.cache.add_pod(PodInfo(loner.obj()))
    assert said(scheduler, make_pod().label("app", "web").obj(), "n3") == [
        "InterPodAffinity: pods in zone=b keep away from pods like this one: default/loner"
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

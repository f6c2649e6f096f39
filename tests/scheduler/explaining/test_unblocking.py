"""The smallest changes that make a pending pod fit, each of which really does."""

from __future__ import annotations

import pytest

from apps.scheduler.explaining.unblocking import Unblocking, unblock
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.conftest import NewScheduler


@pytest.fixture
def scheduler(new_scheduler: NewScheduler) -> Scheduler:
    """Four nodes with 4 CPUs, of which the pods there leave 1, 1.5, 1.5 and (tainted) 4."""
    found = new_scheduler()
    for number, used in enumerate((3000, 2500, 2500, 0), 1):
        node = make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods=9)
        if not used:
            node.taint("dedicated", "gpu")
        found.cache.add_node(node.label("disk", "hdd").label("zone", f"z{number}").obj())
        if used:
            pod = make_pod(f"p{number}").uid(f"p{number}").req(cpu=f"{used}m").priority(number)
            found.cache.add_pod(PodInfo(pod.on(f"n{number}").obj()))
    return found


def found(scheduler: Scheduler, pod: Pod) -> Unblocking:
    return unblock(scheduler, PodInfo(pod), seconds=60)


def said(scheduler: Scheduler, pod: Pod) -> list[tuple[str, int]]:
    return [(each.sentence, each.nodes) for each in found(scheduler, pod).suggestions]


def test_a_pod_that_is_a_little_too_big_may_ask_for_less_or_tolerate_or_wait_for_others(
    scheduler: Scheduler,
) -> None:
    assert said(scheduler, make_pod().req(cpu="2").obj()) == [
        ("Add a toleration for the taint dedicated=gpu:NoSchedule", 1),
        ("Lower the request for cpu from 2 to 1500m", 2),
        ("Evict the pod default/p1 from n1", 1),
        ("Evict the pod default/p2 from n2", 1),
        ("Evict the pod default/p3 from n3", 1),
    ]


def test_no_pod_of_the_same_workload_is_evicted(scheduler: Scheduler) -> None:
    """Its replacement would be pending instead."""
    replica, sibling = make_pod("web-2"), make_pod("web-1")
    for each in (replica, sibling):
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "w"}
        each.body["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    node = make_node("n5").capacity(cpu="2", memory="8Gi", pods=9).obj()
    scheduler.cache.add_node(node)
    scheduler.cache.add_pod(PodInfo(sibling.req(cpu="2").priority(-5).on("n5").obj()))
    evicting = [each for each, _ in said(scheduler, replica.req(cpu="2").obj()) if "Evict" in each]
    assert evicting and not any("web-1" in each for each in evicting)
    other = [each for each, _ in said(scheduler, make_pod("a").req(cpu="2").obj())]
    assert "Evict the pod default/web-1 from n5" in other


def test_changes_that_are_only_sufficient_together_are_suggested_together(
    scheduler: Scheduler,
) -> None:
    # too large for every node, and the least full one is tainted
    (both,) = found(scheduler, make_pod().req(cpu="6", memory="9Gi").obj()).suggestions[:1]
    assert both.kind == "together" and both.first_nodes == ("n2", "n3")
    assert both.sentence == "Lower the requests for cpu from 6 to 1500m and memory from 9Gi to 8Gi"
    said_of_two = said(scheduler, make_pod().req(cpu="4").node_selector({"disk": "ssd"}).obj())
    assert (
        "Add a toleration for the taint dedicated=gpu:NoSchedule; and remove disk=ssd from the "
        "node selector",
        1,
    ) in said_of_two
    # one change is enough: nothing is combined
    one = found(scheduler, make_pod().req(cpu="2").obj()).suggestions
    assert all(each.kind != "together" for each in one)


def test_a_selector_is_dropped_or_a_node_is_labelled(scheduler: Scheduler) -> None:
    pod = make_pod().req(cpu="1").node_selector({"disk": "ssd"}).obj()
    assert said(scheduler, pod) == [
        ("Remove disk=ssd from the node selector", 3),
        ("Label one of 3 nodes with disk=ssd", 3),
    ]


def test_a_spread_constraint_is_relaxed_by_as_little_as_it_takes(scheduler: Scheduler) -> None:
    for number in (1, 2, 3):
        for place in range(2):
            name = f"web-{number}-{place}"
            pod = make_pod(name).uid(name).label("app", "web").on(f"n{number}")
            scheduler.cache.add_pod(PodInfo(pod.obj()))
    pod = make_pod().label("app", "web").spread("zone", {"app": "web"}).obj()
    assert ("Increase maxSkew of spread constraint 1 (zone) from 1 to 3", 3) in said(scheduler, pod)


def test_what_a_person_would_do_comes_first_and_no_node_gets_the_name_of_another(
    scheduler: Scheduler,
) -> None:
    scheduler.cache.add_node(
        make_node("n5")
        .capacity(cpu="4", memory="8Gi", pods=9)
        .taint("node.kubernetes.io/not-ready")
        .obj()
    )
    for number in range(6, 40):
        node = make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods=9)
        scheduler.cache.add_node(node.label("kubernetes.io/hostname", f"n{number}").obj())
    pod = make_pod().req(cpu="1").node_selector({"kubernetes.io/hostname": "n99"}).obj()
    assert said(scheduler, pod) == [
        ("Remove kubernetes.io/hostname=n99 from the node selector", 37)
    ]
    pod = make_pod().req(cpu="3").node_selector({"disk": "hdd"}).obj()
    sentences = [sentence for sentence, _ in said(scheduler, pod)]
    assert sentences[0] == "Add a toleration for the taint dedicated=gpu:NoSchedule"
    assert sentences[-1] == "Label one of 34 nodes with disk=hdd"
    pod = make_pod().req(cpu="4").obj()
    for number in range(6, 40):
        scheduler.cache.add_pod(
            PodInfo(make_pod(f"q{number}").uid(f"q{number}").req(cpu="1").on(f"n{number}").obj())
        )
    sentences = [sentence for sentence, _ in said(scheduler, pod)]
    assert (
        "Repair one of the nodes with the taint node.kubernetes.io/not-ready:NoSchedule"
        in sentences
    )
    assert not any("toleration for the taint node.kubernetes.io" in each for each in sentences)


def test_obstacles_group_the_nodes_and_nothing_is_suggested_that_does_not_help(
    scheduler: Scheduler,
) -> None:
    pod = make_pod().req(cpu="9").node_selector({"disk": "ssd"}).obj()
    result = found(scheduler, pod)
    assert [each.sentence for each in result.suggestions] == [
        "Remove disk=ssd from the node selector; and lower the request for cpu from 9 to 1500m"
    ]
    assert [(each.plugins, each.nodes) for each in result.obstacles] == [
        (("NodeAffinity", "NodeResourcesFit"), 3),
        (("TaintToleration", "NodeAffinity", "NodeResourcesFit"), 1),
    ]


def test_a_pod_that_fits_needs_no_change(scheduler: Scheduler) -> None:
    result = found(scheduler, make_pod().req(cpu="1").obj())
    assert (result.feasible, result.suggestions) == (3, ())


def test_looking_changes_nothing(scheduler: Scheduler) -> None:
    pod = make_pod().req(cpu="2").node_selector({"disk": "ssd"}).obj()
    first = found(scheduler, pod)
    assert found(scheduler, pod) == first
    assert scheduler.cache.nodes["n1"].node is not None
    assert scheduler.cache.nodes["n1"].node.metadata.labels["disk"] == "hdd"
    scheduler.cache.validate()

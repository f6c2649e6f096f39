from __future__ import annotations

import msgspec

from apps.scheduler.framework.types import PodInfo


def nominated(world, node):
    return [pod.key for pod in world.queue.nominator.pods_for_node(node)]


def with_status(pod, node):
    """The pod as the API server has it once its status names a node."""
    status = msgspec.structs.replace(pod.status, nominated_node_name=node)
    return msgspec.structs.replace(pod, status=status)


def test_pods_of_a_node_are_listed_in_the_order_of_their_nomination(world):
    for name in ("b", "a"):
        world.queue.add_nominated_pod(PodInfo(world.add(name)), "n1")
    assert nominated(world, "n1") == ["shop/b", "shop/a"]


def test_a_pod_is_nominated_to_one_node_at_a_time(world):
    pod = PodInfo(world.add("a"))
    world.queue.add_nominated_pod(pod, "n1")
    world.queue.add_nominated_pod(pod, "n2")
    assert (nominated(world, "n1"), nominated(world, "n2")) == ([], ["shop/a"])


def test_an_empty_name_withdraws_the_nomination(world):
    pod = PodInfo(world.add("a"))
    world.queue.add_nominated_pod(pod, "n1")
    world.queue.add_nominated_pod(pod, "")
    assert len(world.queue.nominator) == 0


def test_a_new_pod_is_nominated_to_the_node_its_status_names(world):
    world.queue.add(with_status(world.pod("a"), "n1"))
    assert nominated(world, "n1") == ["shop/a"]


def test_an_update_that_knows_nothing_of_the_nomination_keeps_it(world):
    pod = world.add("a")
    world.queue.add_nominated_pod(PodInfo(pod), "n1")
    world.queue.update(pod, world.pod("a", priority=3))
    assert nominated(world, "n1") == ["shop/a"]
    assert world.queue.nominator.pods_for_node("n1")[0].priority == 3


def test_an_update_that_clears_the_status_withdraws_the_nomination(world):
    pod = world.pod("a")
    world.queue.add(with_status(pod, "n1"))
    world.queue.update(with_status(pod, "n1"), pod)
    assert nominated(world, "n1") == []


def test_a_deleted_pod_gives_its_node_back(world):
    pod = world.add("a")
    world.queue.add_nominated_pod(PodInfo(pod), "n1")
    world.queue.delete(pod)
    assert nominated(world, "n1") == []

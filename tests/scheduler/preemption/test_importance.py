"""The order in which pods of a node are reprieved; expected orders come from Go's sort.Slice."""

from __future__ import annotations

import hashlib
from random import Random

import pytest

from apps.scheduler.framework.types import PodInfo
from apps.scheduler.preemption import go_sort
from apps.scheduler.preemption.importance import sort_by_importance
from apps.scheduler.testing.builders import make_pod

FIRST, SECOND = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"


def pod(name: str, priority: int, start: str | None = FIRST) -> PodInfo:
    return make_pod(name).priority(priority).started(start).info()


def names(pods: list[PodInfo]) -> str:
    return "".join(pod.name for pod in pods)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([pod("a", 1), pod("b", 2), pod("c", -1)], "bac"),
        ([pod("a", 1, SECOND), pod("b", 1, FIRST)], "ba"),
        ([pod("a", 1), pod("b", 1), pod("c", 2), pod("d", 1)], "cabd"),
        ([pod("a", 1, None), pod("b", 1, None), pod("c", 1, None)], "cba"),
        ([pod("a", 1, None), pod("b", 1), pod("c", 2, None), pod("d", 1, None)], "cbda"),
        ([pod("a", 1, None), pod("b", 2, None)], "ba"),
    ],
    ids=["priority", "start", "equal", "not started", "some not started", "distinct"],
)
def test_pods_are_sorted_as_kube_scheduler_does(pods: list[PodInfo], expected: str) -> None:
    assert names(sort_by_importance(pods)) == expected


def test_more_than_twelve_equal_pods_come_in_the_order_of_the_sort_of_go() -> None:
    started = [pod(chr(97 + number), number % 2) for number in range(20)]
    assert names(sort_by_importance(started)) == "pbtdrfnhjlmikgoaqesc"
    waiting = [pod(chr(97 + number), 0, None) for number in range(20)]
    assert names(sort_by_importance(waiting)) == "gaeqmdrbjpohfniscltk"


def less(first: int, second: int) -> bool:
    """Odd numbers are less than themselves, as pods that have not started."""
    return first < second or first == second and first % 2 == 1


@pytest.mark.parametrize(
    ("length", "digest"),
    [
        (12, "14b33beba7f5e413"),
        (13, "acb897719808674b"),
        (49, "805d81e8d308de7b"),
        (50, "108c27c6d75b9cf8"),
        (110, "52a7658f6e20dff3"),
        (400, "784db58179c2c31b"),
    ],
)
def test_each_step_of_the_sort_is_that_of_go(length: int, digest: str) -> None:
    dice = Random(length)
    orders = []
    for spread in (1, 2, 3, 8, 50, 1000) * 10:
        for step in (1, 2):
            keys = [dice.randrange(spread) * step for _ in range(length)]
            orders += go_sort.sort(range(length), lambda a, b, keys=keys: less(keys[a], keys[b]))
    assert hashlib.sha256(repr(orders).encode()).hexdigest()[:16] == digest

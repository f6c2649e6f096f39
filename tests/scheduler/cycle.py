"""One attempt to schedule a pod, and what a test asks about it."""

from __future__ import annotations

from typing import Any, Protocol

from apps.scheduler.decision import Decision
from apps.scheduler.explaining.evaluation import evaluate
from apps.scheduler.explaining.refusing import refusals_at
from apps.scheduler.framework import node_search
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import KubeObject
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import PodBuilder


class Builder(Protocol):
    def obj(self) -> KubeObject: ...


def add(scheduler: Scheduler, *items: KubeObject | Builder) -> list[Any]:
    """The objects, which are in the cluster from now on."""
    objects = [item if isinstance(item, KubeObject) else item.obj() for item in items]
    for each in objects:
        scheduler.handle(type(each).__name__, None, each)
    return objects


def attempt(scheduler: Scheduler, pod: PodBuilder, *others: KubeObject | Builder) -> Decision:
    """The decision about ``pod``, which comes after the ``others``."""
    add(scheduler, *others, pod)
    decision = scheduler.schedule_one()
    assert decision is not None
    return decision


def search_plainly(scheduler: Scheduler) -> None:
    """Every plugin is asked in each cycle from now on."""
    for framework in scheduler.profiles.values():
        framework.search_for = node_search.search_plainly


def explained(scheduler: Scheduler, pod: PodBuilder, node: str = "n") -> list[str]:
    """Every sentence about a node that refuses the pod, after the name of the plugin."""
    evaluation = evaluate(scheduler, PodInfo(pod.obj()))
    return [
        f"{refusal.plugin}: {detail.sentence}"
        for refusal in refusals_at(evaluation, scheduler.snapshot.row_of(node))
        for detail in refusal.details
    ]


def with_args(plugin: str, **args: Any) -> dict[str, Any]:
    """A configuration whose profile has arguments for a plugin."""
    return {"profiles": [{"pluginConfig": [{"name": plugin, "args": args}]}]}

"""A scheduler with the default profile, checked for contradictions at the end of every test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apps.scheduler.clock import VirtualClock
from apps.scheduler.config.loading import load
from apps.scheduler.config.types import API_VERSION, KIND
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.scheduler import Scheduler

NewScheduler = Callable[..., Scheduler]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(1000.0)


@pytest.fixture
def new_scheduler(clock: VirtualClock) -> Iterator[NewScheduler]:
    """``new_scheduler(config={...}, **options)``: the parts of a configuration after its head."""
    made: list[Scheduler] = []

    def make(config: dict[str, Any] | None = None, **options: Any) -> Scheduler:
        loaded = load({"apiVersion": API_VERSION, "kind": KIND, **(config or {})}, TABLE)
        options = {"tie_break": "first-name", **options}
        made.append(Scheduler(loaded, clock=clock, **options))
        return made[-1]

    yield make
    for scheduler in made:
        scheduler.validate()
        scheduler.close()


@pytest.fixture
def scheduler(new_scheduler: NewScheduler) -> Scheduler:
    return new_scheduler()

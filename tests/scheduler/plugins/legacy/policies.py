"""Schedulers with plugins of earlier releases."""

from __future__ import annotations

from typing import Any

from apps.scheduler.config.convert import convert
from apps.scheduler.config.loading import load
from apps.scheduler.config.types import API_VERSION, KIND
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.clock import FakeClock


def under_policy(predicates: list[str], priorities: dict[str, int]) -> Scheduler:
    """A scheduler with the converted profile of a Policy."""
    policy = {
        "kind": "Policy",
        "apiVersion": "v1",
        "predicates": [{"name": name} for name in predicates],
        "priorities": [{"name": name, "weight": weight} for name, weight in priorities.items()],
    }
    return converted(policy)


def converted(policy: dict[str, Any]) -> Scheduler:
    conversion = convert(policy, TABLE)
    config = load(conversion.configuration_yaml, TABLE, legacy=conversion.legacy)
    return Scheduler(config, clock=FakeClock(1000.0), tie_break="first-name")


def scoring_by(plugin: str, **args: Any) -> Scheduler:
    """A scheduler whose profile scores by one legacy plugin."""
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": {"score": {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}},
        "pluginConfig": [{"name": plugin, "args": args}] if args else [],
    }
    body = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}
    config = load(body, TABLE, legacy=True)
    return Scheduler(config, clock=FakeClock(1000.0), tie_break="first-name")

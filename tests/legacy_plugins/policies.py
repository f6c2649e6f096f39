"""Schedulers with plugins of earlier releases."""

from __future__ import annotations

from typing import Any, Final

from apps.engine.profiles.plugins import find_plugins
from apps.scheduler.clock import VirtualClock
from apps.scheduler.config.loading import load
from apps.scheduler.config.types import API_VERSION, KIND, Configuration
from apps.scheduler.framework.declaration import plugin_table
from apps.scheduler.plugins.registry import BUILT_IN, PLUGINS
from apps.scheduler.scheduler import Scheduler
from legacy_plugins.conversion import convert

#: The plugins of the package, loaded as those of any package.
_LOADED: Final = find_plugins(("legacy_plugins:PACKAGE",))
TABLE: Final = plugin_table(PLUGINS, outside=_LOADED.values())
REGISTRY: Final = {**_LOADED, **BUILT_IN}


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
    config = load(conversion.configuration, TABLE, legacy=conversion.legacy)
    return scheduler_of(config)


def scoring_by(plugin: str, **args: Any) -> Scheduler:
    """A scheduler whose profile scores by one legacy plugin."""
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": {"score": {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}},
        "pluginConfig": [{"name": plugin, "args": args}] if args else [],
    }
    body = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}
    config = load(body, TABLE, legacy=True)
    return scheduler_of(config)


def scheduler_of(config: Configuration) -> Scheduler:
    return Scheduler(config, clock=VirtualClock(1000.0), tie_break="first-name", registry=REGISTRY)

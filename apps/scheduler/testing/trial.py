"""A scheduler in memory with plugins from outside the tree, for their tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from apps.scheduler.clock import VirtualClock
from apps.scheduler.config.loading import load
from apps.scheduler.config.types import API_VERSION, KIND
from apps.scheduler.decision import Decision
from apps.scheduler.framework.declaration import plugin_table
from apps.scheduler.framework.outside import checked
from apps.scheduler.framework.per_node import PerNodePlugin, columnar
from apps.scheduler.objects import KubeObject
from apps.scheduler.plugins.registry import BUILT_IN, PLUGINS
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder

#: What is created: an object, or the builder of one.
Item = KubeObject | PodBuilder | NodeBuilder


class Trial:
    """The default profile with plugins at all their extension points, on a clock that stands still.

    ConfigError for arguments that a plugin refuses, as when a profile is stored. Of nodes with
    equal scores the first by name is selected.
    """

    def __init__(
        self, *plugins: type[Any], args: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        plugin_classes = [
            checked(columnar(each) if issubclass(each, PerNodePlugin) else each) for each in plugins
        ]
        profile = {
            "plugins": {
                "multiPoint": {"enabled": [{"name": each.name} for each in plugin_classes]}
            },
            "pluginConfig": [
                {"name": name, "args": dict(given)} for name, given in (args or {}).items()
            ],
        }
        configuration = load(
            {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]},
            plugin_table(PLUGINS, outside=plugin_classes),
        )
        self.clock = VirtualClock()
        self.scheduler = Scheduler(
            configuration,
            clock=self.clock,
            tie_break="first-name",
            registry={**BUILT_IN, **{each.name: each for each in plugin_classes}},
        )

    def add(self, *objects: Item) -> Self:
        """Create objects in the cluster."""
        for each in objects:
            item = each.obj() if isinstance(each, PodBuilder | NodeBuilder) else each
            self.scheduler.handle(type(item).__name__, None, item)
        return self

    def decide(self, pod: Item | None = None) -> Decision:
        """The decision about the next pod of the queue, after `pod` was created."""
        if pod is not None:
            self.add(pod)
        decision = self.scheduler.schedule_one()
        assert decision is not None, "no pod is in activeQ"
        return decision


def refusals(decision: Decision) -> dict[str, str]:
    """Node -> why it was rejected; the others are left out."""
    statuses = {name: decision.status_of(name) for name in decision.nodes if name}
    return {name: status.message for name, status in statuses.items() if status is not None}


def scores(decision: Decision, plugin: str) -> dict[str, tuple[int, int, int]]:
    """Feasible node -> raw, normalized and weighted score of a plugin."""
    nodes = [decision.nodes[row] for row in decision.feasible]
    return {node: decision.scores_of(node)[plugin] for node in nodes}

"""The v1 configuration while it is being written: plugin lists and plugin arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from apps.scheduler.config.plugin_table import PluginTable
from apps.scheduler.config.types import API_VERSION, EXTENSION_POINTS
from legacy_plugins.conversion import names

#: The points that filter and score depend on; earlier releases did not have all of them.
_PREPARED_BY: Final = {"filter": "preFilter", "score": "preScore"}


@dataclass(slots=True)
class ProfileDraft:
    """One profile with explicit plugin lists: nothing runs by default."""

    #: the in-tree plugins, including those of earlier releases
    built_in: PluginTable
    scheduler_name: str | None = None
    #: copied unchanged
    percentage_of_nodes_to_score: Any = None
    #: extension point → plugin → weight (None: none given), in order
    plugins: dict[str, dict[str, int | None]] = field(
        default_factory=lambda: {point: {} for point in EXTENSION_POINTS}
    )
    #: plugin → its arguments without apiVersion and kind
    args: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: the feature gates of the old scheduler
    gates: Mapping[str, bool] = field(default_factory=dict)
    #: plugins of multiPoint that do not exist here; loading the result names them
    unknown: dict[str, int | None] = field(default_factory=dict)

    def enable(self, point: str, plugin: str, weight: int | None = None) -> None:
        """Add a plugin at the end of a point, or set its weight if it is there already."""
        self.plugins[point][plugin] = weight

    def remove(self, plugin: str) -> None:
        for plugins in self.plugins.values():
            plugins.pop(plugin, None)

    def rename(self, old: str, new: str) -> None:
        """Replace one plugin by another, with its arguments if that has any."""
        if old in self.args and self.built_in[new].args_type is not None:
            self.args[new] = self.args.pop(old)
        for point, plugins in self.plugins.items():
            self.plugins[point] = {
                new if name == old else name: weight for name, weight in plugins.items()
            }

    def extend_args(self, plugin: str, name: str, values: Iterable[str]) -> None:
        """Add to a list in the arguments of a plugin."""
        self.args.setdefault(plugin, {}).setdefault(name, []).extend(values)

    def has(self, plugin: str) -> bool:
        return any(plugin in plugins for plugins in self.plugins.values())

    def complete(self) -> None:
        """Adjust the lists to 1.36: add points that plugins depend on, remove those they lost."""
        for point, prepared in _PREPARED_BY.items():
            for plugin in self.plugins[point]:
                if plugin in self.built_in and self._extends(plugin, prepared):
                    self.plugins[prepared].setdefault(plugin)
        for point, plugins in self.plugins.items():
            self.plugins[point] = {
                name: weight
                for name, weight in plugins.items()
                if name not in self.built_in or self._extends(name, point)
            }
        # Pods can have scheduling gates here, in any converted profile.
        self.plugins["preEnqueue"].setdefault(names.SCHEDULING_GATES)

    def render(self) -> dict[str, Any]:
        """The profile as in a v1 configuration."""
        profile: dict[str, Any] = {}
        if self.scheduler_name is not None:
            profile["schedulerName"] = self.scheduler_name
        if self.percentage_of_nodes_to_score is not None:
            profile["percentageOfNodesToScore"] = self.percentage_of_nodes_to_score
        multi_point: dict[str, Any] = {"disabled": [{"name": "*"}]}
        if self.unknown:
            multi_point["enabled"] = [_render_plugin(*plugin) for plugin in self.unknown.items()]
        profile["plugins"] = {"multiPoint": multi_point} | {
            point: {"enabled": [_render_plugin(name, weight) for name, weight in plugins.items()]}
            for point, plugins in self.plugins.items()
            if plugins
        }
        if self.args:
            profile["pluginConfig"] = render_args(self.args, self.built_in)
        return profile

    def _extends(self, plugin: str, point: str) -> bool:
        return point in self.built_in[plugin].extension_points


def render_args(
    args: Mapping[str, Mapping[str, Any]], built_in: PluginTable
) -> list[dict[str, Any]]:
    """`pluginConfig`, with the apiVersion and kind of in-tree arguments."""
    entries = []
    for plugin, given in args.items():
        meta = {"apiVersion": API_VERSION, "kind": f"{plugin}Args"} if plugin in built_in else {}
        entries.append({"name": plugin, "args": {**meta, **given}})
    return entries


def _render_plugin(name: str, weight: int | None) -> dict[str, Any]:
    return {"name": name} if weight is None else {"name": name, "weight": weight}

"""From the plugin sets of a profile to the plugins in effect at each extension point.

Two steps, both upstream's: the profile's sets are merged into the default ones, then multiPoint
is spread over the extension points that each plugin implements. At a point the order is

1. plugins named both there and in multiPoint, in the order of the point ("overrides"),
2. the other plugins of multiPoint, in its order,
3. the other plugins of the point, in its order.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from apps.scheduler.config.errors import Problems, child, format_value
from apps.scheduler.config.plugin_table import PluginTable, default_plugins
from apps.scheduler.config.types import EXTENSION_POINTS, Plugin, Plugins, PluginSet
from apps.scheduler.features import FeatureGates

ALL: Final = "*"
MAX_NODE_SCORE: Final = 100
MAX_TOTAL_SCORE: Final = 2**63 - 1

#: extension point → its attribute in Plugins
SET_ATTRIBUTES: Final = {
    "preEnqueue": "pre_enqueue",
    "queueSort": "queue_sort",
    "preFilter": "pre_filter",
    "filter": "filter",
    "postFilter": "post_filter",
    "preScore": "pre_score",
    "score": "score",
    "reserve": "reserve",
    "permit": "permit",
    "preBind": "pre_bind",
    "bind": "bind",
    "postBind": "post_bind",
    "multiPoint": "multi_point",
}


@dataclass(slots=True)
class Expansion:
    """`plugins`: extension point → names in order. `weights`: scoring plugin → weight.

    `needed`: the plugins enabled in any set, in effect or not, sorted.
    """

    plugins: dict[str, tuple[str, ...]] = field(default_factory=dict)
    weights: dict[str, int] = field(default_factory=dict)
    needed: tuple[str, ...] = ()


def plugin_set(plugins: Plugins, point: str) -> PluginSet:
    """The set written for an extension point (or for ``multiPoint``)."""
    written: PluginSet = getattr(plugins, SET_ATTRIBUTES[point])
    return written


def merge(default: Plugins, custom: Plugins) -> Plugins:
    """The custom sets applied to the default ones, point by point."""
    merged = {
        attribute: _merge_set(getattr(default, attribute), getattr(custom, attribute))
        for attribute in SET_ATTRIBUTES.values()
    }
    return replace(default, **merged)


def expand(
    written: Plugins,
    known: PluginTable,
    *,
    gates: FeatureGates,
    scheduler_name: str,
    path: str,
    problems: Problems,
) -> Expansion:
    """The sets `written` in a profile, at `path`, merged into the default ones and spread.

    Faults are added to `problems`; the result is valid only if there are none.
    """
    plugins = merge(default_plugins(known, gates), written)
    expansion = Expansion(needed=_needed(plugins))
    _check_multi_point(written.multi_point, known, f"{path}.multiPoint", problems)
    for point in EXTENSION_POINTS:
        _check_set(plugins, point, known, path, problems)
        expansion.plugins[point] = _plugins_at(plugins, point, known)
    _check_essentials(expansion, scheduler_name, path, problems)
    expansion.weights = _score_weights(plugins, known, child(path, "score"), problems)
    return expansion


def _merge_set(default: PluginSet, custom: PluginSet) -> PluginSet:
    disabled = {plugin.name for plugin in (*custom.disabled, *default.disabled)}
    # The last of several equal names replaces the default; the others stay and are refused later.
    custom_index = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    enabled: list[Plugin] = []
    replaced: set[int] = set()
    for plugin in () if ALL in disabled else default.enabled:
        if plugin.name in disabled:
            continue
        index = custom_index.get(plugin.name)
        if index is not None:
            plugin = custom.enabled[index]
            replaced.add(index)
        enabled.append(plugin)
    enabled += [plugin for i, plugin in enumerate(custom.enabled) if i not in replaced]
    return PluginSet(enabled=tuple(enabled), disabled=(*custom.disabled, *default.disabled))


def _check_multi_point(
    written: PluginSet, known: PluginTable, path: str, problems: Problems
) -> None:
    """Plugins named in multiPoint must exist, and be named once."""
    seen: set[str] = set()
    for index, plugin in enumerate(written.enabled):
        at, quoted = f"{path}.enabled[{index}]", format_value(plugin.name)
        if plugin.name not in known:
            problems.add(at, f"plugin {quoted} does not exist")
        elif plugin.name in seen:
            points = known[plugin.name].extension_points
            interface = _interface(min(points, key=EXTENSION_POINTS.index))
            problems.add(at, f"plugin {quoted} already registered as {format_value(interface)}")
        seen.add(plugin.name)


def _check_set(
    plugins: Plugins, point: str, known: PluginTable, path: str, problems: Problems
) -> None:
    """Plugins named at a point must exist, implement it, and be named once."""
    seen: set[str] = set()
    interface = _interface(point)
    for index, plugin in enumerate(plugin_set(plugins, point).enabled):
        at = f"{path}.{point}.enabled[{index}]"
        if plugin.name not in known:
            problems.add(at, f"{interface} {format_value(plugin.name)} does not exist")
        elif point not in known[plugin.name].extension_points:
            problems.add(
                at, f"plugin {format_value(plugin.name)} does not extend {interface} plugin"
            )
        elif plugin.name in seen:
            problems.add(
                at,
                f"plugin {format_value(plugin.name)} already registered as "
                f"{format_value(interface)}",
            )
        seen.add(plugin.name)


def _plugins_at(plugins: Plugins, point: str, known: PluginTable) -> tuple[str, ...]:
    own = plugin_set(plugins, point)
    own_names = list(dict.fromkeys(plugin.name for plugin in own.enabled))
    disabled = {plugin.name for plugin in own.disabled}
    if ALL in disabled:
        return tuple(own_names)
    spread = [
        plugin.name
        for plugin in plugins.multi_point.enabled
        if _extends(plugin, point, known)
        and plugin.name not in disabled
        and plugin.name not in own_names
    ]
    multi = {plugin.name for plugin in plugins.multi_point.enabled} - disabled
    overrides = [name for name in own_names if name in multi]
    return (*overrides, *spread, *(name for name in own_names if name not in multi))


def _check_essentials(
    expansion: Expansion, scheduler_name: str, path: str, problems: Problems
) -> None:
    quoted = format_value(scheduler_name)
    count = len(expansion.plugins["queueSort"])
    if count != 1:
        problems.add(
            child(path, "queueSort"),
            "only one queue sort plugin required for profile with scheduler name "
            f"{quoted}, but got {count}",
        )
    if not expansion.plugins["bind"]:
        problems.add(
            child(path, "bind"),
            f"at least one bind plugin is needed for profile with scheduler name {quoted}",
        )


def _score_weights(
    plugins: Plugins, known: PluginTable, path: str, problems: Problems
) -> dict[str, int]:
    """Plugin → weight; weights at score take precedence over multiPoint, 0 counts as absent.

    All plugins that can score count, in effect or not, as upstream's overflow check counts them.
    """
    weights: dict[str, int] = {}
    total = 0
    for plugin in (*plugins.score.enabled, *plugins.multi_point.enabled):
        if not _extends(plugin, "score", known) or plugin.name in weights:
            continue
        weights[plugin.name] = plugin.weight or known[plugin.name].weight_when_unset
        share = weights[plugin.name] * MAX_NODE_SCORE
        # 64-bit arithmetic: after a negative weight the remaining range wraps around to nothing.
        if share > MAX_TOTAL_SCORE - total or total < 0:
            problems.add(path, "total score of Score plugins could overflow")
            break
        total += share
    return weights


def _extends(plugin: Plugin, point: str, known: PluginTable) -> bool:
    return plugin.name in known and point in known[plugin.name].extension_points


def _interface(point: str) -> str:
    """The name of a point's interface in messages: preFilter → PreFilterPlugin."""
    return f"{point[0].upper()}{point[1:]}Plugin"


def _needed(plugins: Plugins) -> tuple[str, ...]:
    sets = (plugin_set(plugins, point) for point in SET_ATTRIBUTES)
    return tuple(sorted({plugin.name for written in sets for plugin in written.enabled}))

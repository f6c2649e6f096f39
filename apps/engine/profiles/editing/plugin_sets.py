"""Enables, disables, orders and weights the plugins of a profile in the text of a configuration.

Each change writes the shortest plugin sets whose expansion, by the code with which the scheduler
expands them, has the wanted result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from apps.engine.profiles.editing.document import ConfigurationText
from apps.scheduler.config.decoding import camel_case, decode
from apps.scheduler.config.errors import Problems
from apps.scheduler.config.expansion import ALL, Expansion, expand, merge, plugin_set
from apps.scheduler.config.plugin_table import PluginTable, default_plugins
from apps.scheduler.config.types import (
    EXTENSION_POINTS,
    Plugin,
    Plugins,
    PluginSet,
    WrittenConfiguration,
)
from apps.scheduler.features import GATES, FeatureGates

MULTI_POINT: Final = "multiPoint"
_ATTRIBUTES: Final = {camel_case(name): name for name in Plugins.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class ProfilePlugins:
    """The plugins of a profile: as written, and in effect. Faulty parts are left out."""

    written: Plugins
    known: PluginTable
    gates: FeatureGates = field(default_factory=FeatureGates)
    expansion: Expansion = field(init=False)
    #: names in the multiPoint set in effect, in its order
    multi_point: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        expansion = expand(
            self.written,
            self.known,
            gates=self.gates,
            scheduler_name="",
            path="",
            problems=Problems(),
        )
        merged = merge(default_plugins(self.known, self.gates), self.written)
        names = [plugin.name for plugin in merged.multi_point.enabled if plugin.name in self.known]
        object.__setattr__(self, "expansion", expansion)
        object.__setattr__(self, "multi_point", list(dict.fromkeys(names)))

    def at(self, point: str) -> tuple[str, ...]:
        """The plugins in effect at an extension point, in calling order."""
        return self.expansion.plugins[point]

    def weight_of(self, name: str) -> int | None:
        """The weight of a plugin's scores in effect; None if it cannot score."""
        known = self.known.get(name)
        if known is None or "score" not in known.extension_points:
            return None
        return self.expansion.weights.get(name)

    def written_weight(self, name: str) -> int | None:
        """The weight that the profile sets itself."""
        for point in ("score", MULTI_POINT):
            for plugin in plugin_set(self.written, point).enabled:
                if plugin.name == name and plugin.weight is not None:
                    return plugin.weight
        return None

    def with_set(self, point: str, changed: PluginSet) -> ProfilePlugins:
        """The same with another set at a point."""
        written = replace(self.written, **{_ATTRIBUTES[point]: changed})
        return ProfilePlugins(written, self.known, self.gates)


def read_plugins(document: ConfigurationText, profile: int, known: PluginTable) -> ProfilePlugins:
    """The plugins of the profile with this index; the default ones if there is no such profile."""
    written = decode(WrittenConfiguration, document.body, "", Problems())
    given = written.profiles[profile].plugins if profile < len(written.profiles) else Plugins()
    gates = {name: value for name, value in written.feature_gates.items() if name in GATES}
    return ProfilePlugins(given, known, FeatureGates(gates))


def switch(
    document: ConfigurationText,
    profile: int,
    known: PluginTable,
    point: str,
    plugin: str,
    *,
    on: bool,
) -> None:
    """Enable or disable a plugin at an extension point, or at all of them for multiPoint."""
    plugins = read_plugins(document, profile, known)
    if point == MULTI_POINT:
        _switch_multi_point(document, profile, plugins, plugin, on=on)
        return
    wanted = [name for name in plugins.at(point) if name != plugin]
    if on:
        wanted.append(plugin)
    for candidate in _candidates(plugins, point, wanted):
        if set(plugins.with_set(point, candidate).at(point)) == set(wanted):
            _write_set(document, profile, point, candidate)
            return


def move(
    document: ConfigurationText,
    profile: int,
    known: PluginTable,
    point: str,
    plugin: str,
    *,
    by: int,
) -> None:
    """Call a plugin earlier (`by=-1`) or later (`by=1`) at an extension point."""
    plugins = read_plugins(document, profile, known)
    wanted = list(plugins.at(point))
    if plugin not in wanted or not 0 <= wanted.index(plugin) + by < len(wanted):
        return
    index = wanted.index(plugin)
    wanted.insert(index + by, wanted.pop(index))
    for candidate in _candidates(plugins, point, wanted):
        if list(plugins.with_set(point, candidate).at(point)) == wanted:
            _write_set(document, profile, point, candidate)
            return


def weigh(
    document: ConfigurationText, profile: int, known: PluginTable, plugin: str, weight: Any
) -> None:
    """Set the weight of a plugin's scores; None for its default. Invalid values are written, too.

    It is set where the profile has a weight already, else at score.
    """
    sets = f"profiles[{profile}].plugins"
    for point in ("score", MULTI_POINT):
        path = f"{sets}.{point}.enabled[{plugin}]"
        if document.get(path) is None:
            continue
        if weight is not None:
            document.set(f"{path}.weight", weight)
        else:
            document.remove(f"{path}.weight")
            _remove_if_redundant(document, profile, known, point, plugin)
        return
    if weight is not None:
        document.append(f"{sets}.score.enabled", {"name": plugin, "weight": weight})


def _remove_if_redundant(
    document: ConfigurationText, profile: int, known: PluginTable, point: str, plugin: str
) -> None:
    """Remove an entry without a weight if the plugin is enabled without the entry as well."""
    plugins = read_plugins(document, profile, known)
    written = plugin_set(plugins.written, point)
    others = tuple(each for each in written.enabled if each.name != plugin)
    without = plugins.with_set(point, replace(written, enabled=others))
    if all(set(without.at(each)) == set(plugins.at(each)) for each in EXTENSION_POINTS):
        document.remove(f"profiles[{profile}].plugins.{point}.enabled[{plugin}]")


def _switch_multi_point(
    document: ConfigurationText, profile: int, plugins: ProfilePlugins, plugin: str, *, on: bool
) -> None:
    sets = f"profiles[{profile}].plugins"
    for point in EXTENSION_POINTS:
        # with the switch for all points, what single points say about the plugin is obsolete
        names = ("disabled",) if on else ("enabled", "disabled")
        for part in names:
            if document.get(f"{sets}.{point}.{part}[{plugin}]") is not None:
                document.remove(f"{sets}.{point}.{part}[{plugin}]")
    part, other = ("enabled", "disabled") if on else ("disabled", "enabled")
    if document.get(f"{sets}.{MULTI_POINT}.{other}[{plugin}]") is not None:
        document.remove(f"{sets}.{MULTI_POINT}.{other}[{plugin}]")
    now = read_plugins(document, profile, plugins.known)
    if (plugin in now.multi_point) != on:
        document.append(f"{sets}.{MULTI_POINT}.{part}", {"name": plugin})


def _candidates(plugins: ProfilePlugins, point: str, wanted: list[str]) -> Iterator[PluginSet]:
    """Sets for `wanted` at a point, the shortest first; the last one lists all of them."""
    own = plugin_set(plugins.written, point)
    entries = {plugin.name: plugin for plugin in own.enabled}
    multi = [
        name
        for name in plugins.multi_point
        if name in plugins.known and point in plugins.known[name].extension_points
    ]
    disabled = [plugin.name for plugin in own.disabled if plugin.name not in wanted]
    disabled += [name for name in multi if name not in wanted and name not in disabled]
    if ALL not in disabled:
        needed = [name for name in entries if name in wanted]
        needed += [name for name in wanted if name not in multi and name not in entries]
        for length in range(len(wanted)):
            first = wanted[:length]
            rest = [name for name in needed if name not in first]
            yield _build_set([*first, *rest], disabled, entries)
    yield _build_set(wanted, [ALL], entries)


def _build_set(
    enabled: Sequence[str], disabled: Sequence[str], entries: dict[str, Plugin]
) -> PluginSet:
    return PluginSet(
        enabled=tuple(entries.get(name, Plugin(name=name)) for name in enabled),
        disabled=tuple(Plugin(name=name) for name in dict.fromkeys(disabled)),
    )


def _write_set(document: ConfigurationText, profile: int, point: str, wanted: PluginSet) -> None:
    """Write a set; entries that remain keep their comments and weights."""
    path = f"profiles[{profile}].plugins.{point}"
    for part in ("enabled", "disabled"):
        names = [plugin.name for plugin in getattr(wanted, part)]
        _write_names(document, f"{path}.{part}", names)


def _write_names(document: ConfigurationText, path: str, names: list[str]) -> None:
    present = document.get(path) or []
    written = [entry.get("name") for entry in present if isinstance(entry, dict)]
    if written == names:
        return
    for name in written:
        if name not in names:
            document.remove(f"{path}[{name}]")
    for name in names:
        if name not in written:
            document.append(path, {"name": name})
    entries = document.get(path)
    if entries is not None and [entry.get("name") for entry in entries] != names:
        by_name = {entry.get("name"): entry for entry in entries}
        for index, name in enumerate(names):
            document.set(f"{path}[{index}]", by_name[name])

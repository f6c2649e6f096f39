"""KubeSchedulerConfiguration of v1alpha2 to v1beta3: profiles, as in v1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apps.scheduler.config.errors import Problems
from apps.scheduler.config.expansion import ALL, SET_ATTRIBUTES, expand
from apps.scheduler.config.plugin_table import Origin, PluginTable
from apps.scheduler.config.types import EXTENSION_POINTS, Plugins, PluginSet
from apps.scheduler.features import FeatureGates
from legacy_plugins.conversion import names
from legacy_plugins.conversion.arguments import (
    RENAMED,
    adapt,
    adapt_formulas,
    adapt_volume_binding,
    args_by_plugin,
)
from legacy_plugins.conversion.draft import ProfileDraft
from legacy_plugins.conversion.general import general_fields
from legacy_plugins.conversion.releases import (
    V1BETA3,
    V1BETA3_PLUGINS,
    PluginLists,
    Release,
)
from legacy_plugins.conversion.written import Note, OldConfiguration, OldProfile


def convert_profiles(
    old: OldConfiguration, release: Release, built_in: PluginTable, note: Note
) -> dict[str, Any]:
    """v1alpha2, v1beta1 and v1beta2, whose defaults differ from v1's: all plugins are listed."""
    drafts = []
    for profile in old.profiles or (OldProfile(),):
        draft = draft_of(_empty(old, profile, built_in), profile.plugins, release, note)
        if old.disable_preemption:
            draft.remove(names.DEFAULT_PREEMPTION)
        drafts.append(draft)
    return general_fields(old, note) | {"profiles": [draft.render() for draft in drafts]}


def convert_v1beta3(old: OldConfiguration, known: PluginTable, note: Note) -> dict[str, Any]:
    """v1beta3, whose multiPoint is expanded: the plugins are listed at each point.

    `known` are all plugins that exist, also those from outside the tree.
    """
    profiles = [
        _expanded(_empty(old, profile, known), profile, known).render()
        for profile in old.profiles or (OldProfile(),)
    ]
    return general_fields(old, note) | {"profiles": profiles}


def _empty(old: OldConfiguration, profile: OldProfile, built_in: PluginTable) -> ProfileDraft:
    return ProfileDraft(
        built_in,
        profile.scheduler_name,
        percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
        args=args_by_plugin(profile.plugin_config),
        gates=old.feature_gates,
    )


def _expanded(draft: ProfileDraft, profile: OldProfile, known: PluginTable) -> ProfileDraft:
    """`draft` with the plugins of a profile, expanded as 1.28 expanded them."""
    written = Plugins(
        **{
            attribute: profile.plugins[point]
            for point, attribute in SET_ATTRIBUTES.items()
            if point in profile.plugins
        }
    )
    table = _table_of_v1beta3(known)
    # Faults are reported when the result is loaded.
    expansion = expand(
        written, table, gates=FeatureGates(), scheduler_name="", path="", problems=Problems()
    )
    for point in EXTENSION_POINTS:
        for name in expansion.plugins[point]:
            weight = expansion.weights.get(name) if point == "score" else None
            draft.enable(point, name, weight)
    draft.unknown = {
        plugin.name: plugin.weight
        for plugin in written.multi_point.enabled
        if plugin.name not in known
    }
    adapt_formulas(draft, V1BETA3)
    adapt_volume_binding(draft)
    draft.complete()
    return draft


def _table_of_v1beta3(known: PluginTable) -> PluginTable:
    """The plugins as 1.28 had them: its defaults, at the points that they extended then."""
    defaults = {
        name: replace(
            known[name],
            origin=Origin.IN_TREE,
            default_weight=weight,
            extension_points=frozenset(
                point for point, plugins in V1BETA3.plugins.items() if name in plugins
            ),
        )
        for name, weight in V1BETA3_PLUGINS.items()
    }
    others = {
        name: replace(plugin, origin=Origin.OUTSIDE)
        for name, plugin in known.items()
        if name not in defaults
    }
    return {**defaults, **others}


def draft_of(
    draft: ProfileDraft, plugins: Mapping[str, PluginSet], release: Release, note: Note
) -> ProfileDraft:
    """`draft`, which has the arguments, with `plugins` and the defaults of an old release.

    It names only plugins that exist here.
    """
    for point in EXTENSION_POINTS:
        draft.plugins[point] = _merge(release.plugins, plugins.get(point, PluginSet()), point)
    for point in plugins:
        # Plugins now implement unreserve together with reserve.
        if point not in EXTENSION_POINTS and point != "unreserve":
            note(f"plugins.{point} is not an extension point of {release.version} and is left out")
    adapt(draft, release, note)
    draft.complete()
    return draft


def _merge(default: PluginLists, written: PluginSet, point: str) -> dict[str, int | None]:
    """A point's plugins: the default ones without those disabled, and those enabled."""
    disabled = {RENAMED.get(plugin.name, plugin.name) for plugin in written.disabled}
    kept = {} if ALL in disabled else default.get(point, {})
    result = {name: weight for name, weight in kept.items() if name not in disabled}
    for plugin in written.enabled:
        result[plugin.name] = plugin.weight
    return result

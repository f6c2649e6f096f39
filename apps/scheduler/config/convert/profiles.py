"""KubeSchedulerConfiguration of v1alpha2 to v1beta3: profiles, as in v1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.scheduler.config.convert import names
from apps.scheduler.config.convert.arguments import RENAMED, adapt, args_by_plugin
from apps.scheduler.config.convert.draft import ProfileDraft, render_args
from apps.scheduler.config.convert.general import general_fields
from apps.scheduler.config.convert.releases import PluginLists, Release
from apps.scheduler.config.convert.written import Note, OldConfiguration, OldProfile
from apps.scheduler.config.expansion import ALL
from apps.scheduler.config.plugin_table import PluginTable
from apps.scheduler.config.types import EXTENSION_POINTS, Plugin, PluginSet

_NEW_SINCE_V1BETA3: Final = (
    names.SCHEDULING_GATES,
    names.DYNAMIC_RESOURCES,
    names.NODE_DECLARED_FEATURES,
)


def convert_profiles(
    old: OldConfiguration, release: Release, built_in: PluginTable, note: Note
) -> dict[str, Any]:
    """v1alpha2, v1beta1 and v1beta2, whose defaults differ from v1's: all plugins are listed."""
    drafts = []
    for profile in old.profiles or (OldProfile(),):
        empty = ProfileDraft(
            built_in, profile.scheduler_name, args=args_by_plugin(profile.plugin_config)
        )
        draft = draft_of(empty, profile.plugins, release, note)
        if old.disable_preemption:
            draft.remove(names.DEFAULT_PREEMPTION)
        drafts.append(draft)
    return general_fields(old, note) | {"profiles": [draft.render() for draft in drafts]}


def convert_v1beta3(old: OldConfiguration, built_in: PluginTable, note: Note) -> dict[str, Any]:
    """v1beta3 differs from v1 in a few plugins only: the profiles are kept as written."""
    profiles = [_as_written(profile, built_in) for profile in old.profiles or (OldProfile(),)]
    note(f"plugins that were added later also run by default: {', '.join(_NEW_SINCE_V1BETA3)}")
    note(
        "EBSLimits, GCEPDLimits and AzureDiskLimits no longer run by default: "
        "NodeVolumeLimits counts these volumes as CSI volumes"
    )
    return general_fields(old, note) | {"profiles": profiles}


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


def _as_written(profile: OldProfile, built_in: PluginTable) -> dict[str, Any]:
    rendered: dict[str, Any] = {}
    if profile.scheduler_name is not None:
        rendered["schedulerName"] = profile.scheduler_name
    if profile.percentage_of_nodes_to_score is not None:
        rendered["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    if profile.plugins:
        rendered["plugins"] = {
            point: {
                name: [_plugin(plugin) for plugin in plugins]
                for name, plugins in (("enabled", given.enabled), ("disabled", given.disabled))
                if plugins
            }
            for point, given in profile.plugins.items()
        }
    if profile.plugin_config:
        rendered["pluginConfig"] = render_args(args_by_plugin(profile.plugin_config), built_in)
    return rendered


def _plugin(plugin: Plugin) -> dict[str, Any]:
    weight = {} if plugin.weight is None else {"weight": plugin.weight}
    return {"name": plugin.name, **weight}

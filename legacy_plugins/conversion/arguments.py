"""Plugins and plugin arguments of earlier releases that changed since."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, Final

from apps.scheduler.config.types import PluginConfig
from legacy_plugins.conversion import names
from legacy_plugins.conversion.draft import ProfileDraft
from legacy_plugins.conversion.releases import Release
from legacy_plugins.conversion.written import Note

#: `defaultingType` of PodTopologySpread: the default constraints are those that are listed
LIST_DEFAULTING: Final = "List"

#: Feature gates of earlier releases that changed scores.
BALANCE_ATTACHED_NODE_VOLUMES: Final = "BalanceAttachedNodeVolumes"
VOLUME_CAPACITY_PRIORITY: Final = "VolumeCapacityPriority"

#: Plugins that were renamed before their last release.
RENAMED: Final = {"DefaultPodTopologySpread": names.SELECTOR_SPREAD}

_UNTRANSLATED: Final = {
    "NodeResourceLimits": "NodeResourceLimits, an alpha plugin, has no counterpart and is left out",
}


def args_by_plugin(written: Iterable[PluginConfig]) -> dict[str, dict[str, Any]]:
    """Plugin → its arguments without apiVersion and kind, as a copy that may be changed."""
    return {entry.name: _without_meta(entry.args or {}) for entry in written}


def adapt(profile: ProfileDraft, release: Release, note: Note) -> None:
    """Rewrite plugins and arguments of an old release into those of v1."""
    for old, new in RENAMED.items():
        profile.rename(old, new)
    for plugin, said in _UNTRANSLATED.items():
        if profile.has(plugin):
            note(said)
        profile.remove(plugin)
        profile.args.pop(plugin, None)
    _settle_default_spreading(profile, release)
    adapt_formulas(profile, release)
    adapt_volume_binding(profile)


def adapt_formulas(profile: ProfileDraft, release: Release) -> None:
    """Replace the scorers whose formula has changed by those that have the old one."""
    balanced = names.NODE_RESOURCES_BALANCED_ALLOCATION
    if not release.old_formulas:
        profile.rename(balanced, names.NODE_RESOURCES_BALANCED_ALLOCATION_V1BETA3)
        return
    profile.rename(balanced, names.NODE_RESOURCES_BALANCED_ALLOCATION_LEGACY)
    legacy = names.NODE_RESOURCES_BALANCED_ALLOCATION_LEGACY
    if profile.gates.get(BALANCE_ATTACHED_NODE_VOLUMES) and profile.has(legacy):
        profile.args[legacy] = {"balanceAttachedNodeVolumes": True}


def adapt_volume_binding(profile: ProfileDraft) -> None:
    """Turn VolumeBinding's scores by the use of volumes into a plugin of their own.

    The argument `shape` was accepted only with their feature gate.
    """
    args = profile.args.get(names.VOLUME_BINDING, {})
    shape = args.pop("shape", None)
    is_on = profile.gates.get(VOLUME_CAPACITY_PRIORITY) or bool(shape)
    if not is_on or not profile.has(names.VOLUME_BINDING):
        return
    profile.enable("score", names.VOLUME_CAPACITY_PRIORITY, 1)
    if shape:
        profile.args[names.VOLUME_CAPACITY_PRIORITY] = {"shape": shape}


def _settle_default_spreading(profile: ProfileDraft, release: Release) -> None:
    """Set `defaultingType` to its former default if it is absent."""
    if not release.old_formulas or not profile.has(names.POD_TOPOLOGY_SPREAD):
        return
    given = profile.args.get(names.POD_TOPOLOGY_SPREAD, {})
    listed = release.spreads_by_selector or given.get("defaultConstraints")
    if listed and not given.get("defaultingType"):
        profile.args[names.POD_TOPOLOGY_SPREAD] = {**given, "defaultingType": LIST_DEFAULTING}


def _without_meta(args: Mapping[str, Any]) -> dict[str, Any]:
    meta = ("apiVersion", "kind")
    return {key: copy.deepcopy(value) for key, value in args.items() if key not in meta}

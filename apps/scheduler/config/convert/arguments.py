"""Plugins and plugin arguments of earlier releases that changed since."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, Final

from apps.scheduler.config.convert import names
from apps.scheduler.config.convert.draft import ProfileDraft
from apps.scheduler.config.convert.releases import Release
from apps.scheduler.config.convert.written import NodeLabelArgs, Note, read_as
from apps.scheduler.config.types import PluginConfig
from apps.scheduler.objects import without_nulls

NODE_LABEL: Final = "NodeLabel"
#: `defaultingType` of PodTopologySpread: the default constraints are those that are listed
LIST_DEFAULTING: Final = "List"

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"

#: Plugins that were renamed before their last release.
RENAMED: Final = {"DefaultPodTopologySpread": names.SELECTOR_SPREAD}

_UNTRANSLATED: Final = {
    "ServiceAffinity": "ServiceAffinity has no counterpart and is left out; "
    "use inter-pod affinity instead",
    "NodeResourceLimits": "NodeResourceLimits, an alpha plugin, has no counterpart and is left out",
}


def args_by_plugin(written: Iterable[PluginConfig]) -> dict[str, dict[str, Any]]:
    """Plugin → its arguments without apiVersion and kind, as a copy that may be changed."""
    return {entry.name: _without_meta(entry.args or {}) for entry in written}


def adapt(profile: ProfileDraft, release: Release, note: Note) -> None:
    """Rewrite plugins and arguments of an old release into those of v1."""
    for old, new in RENAMED.items():
        profile.rename(old, new)
    _translate_node_label(profile, note)
    for plugin, said in _UNTRANSLATED.items():
        if profile.has(plugin):
            note(said)
        profile.remove(plugin)
        profile.args.pop(plugin, None)
    _settle_default_spreading(profile, release)
    if release.old_formulas:
        balanced = names.NODE_RESOURCES_BALANCED_ALLOCATION
        profile.rename(balanced, names.NODE_RESOURCES_BALANCED_ALLOCATION_LEGACY)


def require_labels(
    profile: ProfileDraft, note: Note, *, present: Iterable[str], absent: Iterable[str]
) -> None:
    """Add the node labels that NodeLabel requires to NodeAffinity's addedAffinity."""
    demands = [{"key": label, "operator": "Exists"} for label in present]
    demands += [{"key": label, "operator": "DoesNotExist"} for label in absent]
    if not demands:
        return
    text = ", ".join(f"{demand['key']} {demand['operator']}" for demand in demands)
    if names.NODE_AFFINITY not in profile.plugins["filter"]:
        note(
            f"the required node labels ({text}) are left out: NodeAffinity would check them, "
            "but it is not enabled"
        )
        return
    args = profile.args.get(names.NODE_AFFINITY, {})
    args_type = profile.built_in[names.NODE_AFFINITY].args_type
    if args_type is not None:
        read_as(args_type, args, note, f"pluginConfig.{names.NODE_AFFINITY}")
    profile.args[names.NODE_AFFINITY] = _with_demands(args, demands)
    note(
        f"the required node labels ({text}) are now NodeAffinity's addedAffinity; a node without "
        "them is refused with NodeAffinity's reason"
    )


def _with_demands(args: Mapping[str, Any], demands: list[dict[str, str]]) -> dict[str, Any]:
    """NodeAffinityArgs with the demands added to each term; empty terms match no node and stay."""
    affinity = without_nulls(args).get("addedAffinity", {})
    required = affinity.get(_REQUIRED, {"nodeSelectorTerms": [{"matchExpressions": []}]})
    terms = [
        {**term, "matchExpressions": [*term.get("matchExpressions", ()), *demands]} if term else {}
        for term in required.get("nodeSelectorTerms", ())
    ]
    return {"addedAffinity": {**affinity, _REQUIRED: {"nodeSelectorTerms": terms}}}


def _translate_node_label(profile: ProfileDraft, note: Note) -> None:
    args = read_as(
        NodeLabelArgs, profile.args.pop(NODE_LABEL, {}), note, f"pluginConfig.{NODE_LABEL}"
    )
    if NODE_LABEL in profile.plugins["filter"]:
        require_labels(profile, note, present=args.present_labels, absent=args.absent_labels)
    preferred = (*args.present_labels_preference, *args.absent_labels_preference)
    if NODE_LABEL in profile.plugins["score"] and preferred:
        note(f"NodeLabel's preference for labels ({', '.join(preferred)}) is left out")
    profile.remove(NODE_LABEL)


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

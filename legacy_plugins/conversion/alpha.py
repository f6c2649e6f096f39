"""KubeSchedulerConfiguration v1alpha1: one scheduler, its algorithm from a provider or a Policy."""

from __future__ import annotations

from typing import Any, Final

from apps.scheduler.config.plugin_table import PluginTable
from legacy_plugins.conversion import names
from legacy_plugins.conversion.arguments import args_by_plugin
from legacy_plugins.conversion.draft import ProfileDraft
from legacy_plugins.conversion.general import general_fields
from legacy_plugins.conversion.policy import draft_of_policy, render_extenders
from legacy_plugins.conversion.profiles import draft_of
from legacy_plugins.conversion.releases import V1ALPHA1
from legacy_plugins.conversion.written import Note, OldConfiguration, Policy

_DEFAULT_PROVIDER: Final = "DefaultProvider"
_CLUSTER_AUTOSCALER_PROVIDER: Final = "ClusterAutoscalerProvider"


def convert_v1alpha1(
    old: OldConfiguration, policy: Policy | None, built_in: PluginTable, note: Note
) -> dict[str, Any]:
    """`policy`: the Policy that `algorithmSource.policy` refers to, if the caller has it."""
    fields = general_fields(old, note)
    if old.algorithm_source.policy is not None and policy is not None:
        draft = draft_of_policy(policy, built_in, note, old.feature_gates)
        fields |= render_extenders(policy)
        if old.plugins or old.plugin_config:
            note("plugins and pluginConfig are left out: a Policy takes precedence")
    else:
        draft = _draft_of_provider(old, built_in, note)
    draft.scheduler_name = old.scheduler_name
    _apply_settings(draft, old)
    return fields | {"profiles": [draft.render()]}


def _draft_of_provider(old: OldConfiguration, built_in: PluginTable, note: Note) -> ProfileDraft:
    source = old.algorithm_source
    if source.policy is not None:
        note(
            f"the Policy of algorithmSource ({source.policy}) is not part of this text; the "
            "default plugins are used instead. Convert the two together"
        )
    plugins = dict(old.plugins)
    if "postFilter" in plugins:
        # Until v1alpha2 preScore had this name, and preemption was not a plugin.
        plugins["preScore"] = plugins.pop("postFilter")
        note("plugins.postFilter is now preScore: the extension point was renamed")
    empty = ProfileDraft(built_in, args=args_by_plugin(old.plugin_config), gates=old.feature_gates)
    draft = draft_of(empty, plugins, V1ALPHA1, note)
    provider = source.provider or _DEFAULT_PROVIDER
    if provider == _CLUSTER_AUTOSCALER_PROVIDER:
        draft.rename(names.NODE_RESOURCES_LEAST_ALLOCATED, names.NODE_RESOURCES_MOST_ALLOCATED)
    elif provider != _DEFAULT_PROVIDER:
        note(f"algorithmSource.provider {provider} is unknown; {_DEFAULT_PROVIDER} is used")
    return draft


def _apply_settings(draft: ProfileDraft, old: OldConfiguration) -> None:
    """Apply settings that are now arguments of plugins; existing arguments take precedence."""
    if old.disable_preemption:
        draft.remove(names.DEFAULT_PREEMPTION)
    weight = old.hard_pod_affinity_symmetric_weight
    if weight is not None and draft.has(names.INTER_POD_AFFINITY):
        args = draft.args.setdefault(names.INTER_POD_AFFINITY, {})
        args.setdefault("hardPodAffinityWeight", weight)
    timeout = old.bind_timeout_seconds
    if timeout is not None and draft.has(names.VOLUME_BINDING):
        args = draft.args.setdefault(names.VOLUME_BINDING, {})
        args.setdefault("bindTimeoutSeconds", timeout)

"""Policy v1: predicates and priorities, as schedulers up to 1.22 were configured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.scheduler.config.durations import format_duration
from apps.scheduler.config.errors import Problems
from apps.scheduler.config.plugin_table import PluginTable
from legacy_plugins.conversion import names
from legacy_plugins.conversion.arguments import LIST_DEFAULTING, adapt_formulas
from legacy_plugins.conversion.draft import ProfileDraft
from legacy_plugins.conversion.releases import V1ALPHA1
from legacy_plugins.conversion.written import (
    Note,
    Policy,
    PolicyExtender,
    Predicate,
    Priority,
)

#: predicate → the plugins that replace it; in the order in which predicates ran
PREDICATES: Final[dict[str, tuple[str, ...]]] = {
    "CheckNodeUnschedulable": (names.NODE_UNSCHEDULABLE,),
    "GeneralPredicates": (
        names.NODE_RESOURCES_FIT,
        names.NODE_NAME,
        names.NODE_PORTS,
        names.NODE_AFFINITY,
    ),
    "HostName": (names.NODE_NAME,),
    "PodFitsHostPorts": (names.NODE_PORTS,),
    "MatchNodeSelector": (names.NODE_AFFINITY,),
    "PodFitsResources": (names.NODE_RESOURCES_FIT,),
    "NoDiskConflict": (names.VOLUME_RESTRICTIONS,),
    "PodToleratesNodeTaints": (names.TAINT_TOLERATION,),
    "CheckNodeLabelPresence": (names.NODE_LABEL,),
    "CheckServiceAffinity": (names.SERVICE_AFFINITY,),
    "MaxEBSVolumeCount": (names.EBS_LIMITS,),
    "MaxGCEPDVolumeCount": (names.GCE_PD_LIMITS,),
    "MaxCSIVolumeCountPred": (names.NODE_VOLUME_LIMITS,),
    "MaxAzureDiskVolumeCount": (names.AZURE_DISK_LIMITS,),
    "MaxCinderVolumeCount": (names.CINDER_LIMITS,),
    "CheckVolumeBinding": (names.VOLUME_BINDING,),
    "NoVolumeZoneConflict": (names.VOLUME_ZONE,),
    "EvenPodsSpread": (names.POD_TOPOLOGY_SPREAD,),
    "MatchInterPodAffinity": (names.INTER_POD_AFFINITY,),
}
MANDATORY_PREDICATES: Final = ("PodToleratesNodeTaints", "CheckNodeUnschedulable")
#: The default of `predicates`; an empty list means only the mandatory ones.
DEFAULT_PREDICATES: Final = (
    "NoVolumeZoneConflict",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxAzureDiskVolumeCount",
    "MaxCSIVolumeCountPred",
    "MatchInterPodAffinity",
    "NoDiskConflict",
    "GeneralPredicates",
    "CheckVolumeBinding",
    "EvenPodsSpread",
)
_FORMER_PREDICATES: Final = {
    "PodFitsPorts": "PodFitsHostPorts",
    "NoVolumeNodeConflict": "CheckVolumeBinding",
}
#: Node conditions are now taints, which the mandatory predicates check.
_CONDITION_PREDICATES: Final = frozenset(
    {
        "CheckNodeCondition",
        "CheckNodeMemoryPressure",
        "CheckNodeDiskPressure",
        "CheckNodePIDPressure",
    }
)

#: priority → the plugin that replaces it
PRIORITIES: Final[dict[str, str]] = {
    "SelectorSpreadPriority": names.SELECTOR_SPREAD,
    "ServiceSpreadingPriority": names.SELECTOR_SPREAD,
    "InterPodAffinityPriority": names.INTER_POD_AFFINITY,
    "LeastRequestedPriority": names.NODE_RESOURCES_LEAST_ALLOCATED,
    "MostRequestedPriority": names.NODE_RESOURCES_MOST_ALLOCATED,
    "BalancedResourceAllocation": names.NODE_RESOURCES_BALANCED_ALLOCATION,
    "NodePreferAvoidPodsPriority": names.NODE_PREFER_AVOID_PODS,
    "NodeAffinityPriority": names.NODE_AFFINITY,
    "TaintTolerationPriority": names.TAINT_TOLERATION,
    "ImageLocalityPriority": names.IMAGE_LOCALITY,
    "EvenPodsSpreadPriority": names.POD_TOPOLOGY_SPREAD,
}
#: Plugins that stand for several priorities, each of which scores by one label.
_SHARED: Final = frozenset({names.NODE_LABEL, names.SERVICE_AFFINITY})
#: The default of `priorities`.
DEFAULT_PRIORITIES: Final[dict[str, int]] = {
    "SelectorSpreadPriority": 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodePreferAvoidPodsPriority": 10_000,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    "EvenPodsSpreadPriority": 2,
}


def convert_policy(policy: Policy, built_in: PluginTable, note: Note) -> dict[str, Any]:
    """A Policy as the v1 configuration of the default scheduler."""
    profile = draft_of_policy(policy, built_in, note, policy.feature_gates).render()
    return {"profiles": [profile], **render_extenders(policy)}


def draft_of_policy(
    policy: Policy, built_in: PluginTable, note: Note, gates: Mapping[str, bool]
) -> ProfileDraft:
    """The profile; raises ConfigError for weights that no scheduler accepted."""
    draft = ProfileDraft(built_in, gates=gates)
    draft.enable("queueSort", names.PRIORITY_SORT)
    _add_predicates(draft, policy.predicates, note)
    draft.enable("postFilter", names.DEFAULT_PREEMPTION)
    _add_priorities(draft, policy.priorities, note)
    draft.enable("bind", names.DEFAULT_BINDER)
    weight = policy.hard_pod_affinity_symmetric_weight
    if weight and draft.has(names.INTER_POD_AFFINITY):
        draft.args[names.INTER_POD_AFFINITY] = {"hardPodAffinityWeight": weight}
    elif weight:
        note("hardPodAffinitySymmetricWeight is left out: no enabled plugin uses pod affinity")
    if policy.always_check_all_predicates:
        note(
            "alwaysCheckAllPredicates is left out: only the first refusal of each node is reported"
        )
    if draft.has(names.POD_TOPOLOGY_SPREAD):
        # SelectorSpread spread the pods of services before default constraints existed.
        draft.args[names.POD_TOPOLOGY_SPREAD] = {"defaultingType": LIST_DEFAULTING}
    adapt_formulas(draft, V1ALPHA1)
    draft.complete()
    return draft


def render_extenders(policy: Policy) -> dict[str, Any]:
    """The field `extenders` of v1, if there are any."""
    if not policy.extenders:
        return {}
    return {"extenders": [_extender(extender) for extender in policy.extenders]}


def _extender(old: PolicyExtender) -> dict[str, Any]:
    fields = {
        "urlPrefix": old.url_prefix,
        "filterVerb": old.filter_verb,
        "preemptVerb": old.preempt_verb,
        "prioritizeVerb": old.prioritize_verb,
        "weight": old.weight,
        "bindVerb": old.bind_verb,
        "enableHTTPS": old.enable_https,
        "tlsConfig": old.tls_config,
        "httpTimeout": format_duration(old.http_timeout / 10**9) if old.http_timeout else None,
        "nodeCacheCapable": old.node_cache_capable,
        "managedResources": list(old.managed_resources),
        "ignorable": old.ignorable,
    }
    return {name: value for name, value in fields.items() if value}


def _add_predicates(draft: ProfileDraft, given: Sequence[Predicate] | None, note: Note) -> None:
    wanted = set(MANDATORY_PREDICATES)
    if given is None:
        wanted |= set(DEFAULT_PREDICATES)
    for predicate in given or ():
        wanted |= _known_predicate(predicate, note)
    for name, plugins in PREDICATES.items():
        if name in wanted:
            for plugin in plugins:
                draft.enable("filter", plugin)
    if names.VOLUME_BINDING in draft.plugins["filter"]:
        draft.enable("reserve", names.VOLUME_BINDING)
        draft.enable("preBind", names.VOLUME_BINDING)
    for predicate in given or ():
        _add_predicate_args(draft, predicate)


def _add_predicate_args(draft: ProfileDraft, predicate: Predicate) -> None:
    """The labels of a predicate, as arguments of the plugin that all such predicates share."""
    presence, affinity = predicate.argument.labels_presence, predicate.argument.service_affinity
    if presence is not None:
        name = "presentLabels" if presence.presence else "absentLabels"
        draft.extend_args(names.NODE_LABEL, name, presence.labels)
    if affinity is not None:
        draft.extend_args(names.SERVICE_AFFINITY, "affinityLabels", affinity.labels)


def _known_predicate(predicate: Predicate, note: Note) -> set[str]:
    """The predicate under its last name; empty if it is no longer needed or unknown."""
    name = _FORMER_PREDICATES.get(predicate.name, predicate.name)
    argument, wanted = predicate.argument, set[str]()
    if argument.labels_presence is not None:
        wanted.add("CheckNodeLabelPresence")
    if argument.service_affinity is not None:
        wanted.add("CheckServiceAffinity")
    if wanted:
        return wanted
    if name in PREDICATES:
        return {name}
    if name in _CONDITION_PREDICATES:
        note(f"predicate {name}: node conditions are now taints, which TaintToleration checks")
    else:
        note(f"predicate {name} is unknown and is left out")
    return set()


def _add_priorities(draft: ProfileDraft, given: Sequence[Priority] | None, note: Note) -> None:
    if given is None:
        given = [Priority(name=name, weight=weight) for name, weight in DEFAULT_PRIORITIES.items()]
    problems = Problems()
    for index, priority in enumerate(given):
        if priority.weight <= 0:
            problems.invalid(
                f"priorities[{index}].weight",
                priority.weight,
                f"Priority {priority.name} should have a positive weight applied to it",
            )
        elif plugin := _known_priority(draft, priority, note):
            draft.enable("score", plugin, _weight(draft, plugin, priority))
    problems.raise_if_any()


def _weight(draft: ProfileDraft, plugin: str, priority: Priority) -> int:
    """The weight of a plugin; that of one which several priorities share is their sum."""
    given = draft.plugins["score"].get(plugin) if plugin in _SHARED else None
    return priority.weight + (given or 0)


def _known_priority(draft: ProfileDraft, priority: Priority, note: Note) -> str | None:
    """The plugin that replaces a priority; its arguments are added to the draft."""
    name, argument = priority.name, priority.argument
    if name in PRIORITIES:
        return PRIORITIES[name]
    ratio = argument.requested_to_capacity_ratio_arguments
    if ratio is not None:
        args = {"shape": ratio.shape, "resources": ratio.resources}
        draft.args[names.REQUESTED_TO_CAPACITY_RATIO] = {
            name: value for name, value in args.items() if value is not None
        }
        return names.REQUESTED_TO_CAPACITY_RATIO
    preference, anti_affinity = argument.label_preference, argument.service_anti_affinity
    if preference is not None:
        field = "presentLabelsPreference" if preference.presence else "absentLabelsPreference"
        draft.extend_args(names.NODE_LABEL, field, (preference.label,))
        return names.NODE_LABEL
    if anti_affinity is not None:
        field = "antiAffinityLabelsPreference"
        draft.extend_args(names.SERVICE_AFFINITY, field, (anti_affinity.label,))
        return names.SERVICE_AFFINITY
    if name == "EqualPriority":
        note("priority EqualPriority scores all nodes equally and is left out")
    else:
        note(f"priority {name} is unknown and is left out")
    return None

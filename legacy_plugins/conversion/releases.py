"""The plugins that earlier API versions ran by default, at each extension point, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from legacy_plugins.conversion import names

#: extension point → plugin → weight
PluginLists = Mapping[str, Mapping[str, int | None]]


@dataclass(frozen=True, slots=True)
class Release:
    """The defaults of an API version in its last release.

    `old_formulas`: before 1.23, when scoring by resources was done by separate plugins.
    `spreads_by_selector`: before 1.20, when SelectorSpread spread the pods of a service.
    """

    version: str
    plugins: PluginLists
    old_formulas: bool = False
    spreads_by_selector: bool = False


def _without_weights(*plugins: str) -> dict[str, int | None]:
    return dict.fromkeys(plugins)


_COMMON: Final[PluginLists] = {
    "queueSort": _without_weights(names.PRIORITY_SORT),
    "preFilter": _without_weights(
        names.NODE_RESOURCES_FIT,
        names.NODE_PORTS,
        names.VOLUME_RESTRICTIONS,
        names.POD_TOPOLOGY_SPREAD,
        names.INTER_POD_AFFINITY,
        names.VOLUME_BINDING,
        names.NODE_AFFINITY,
    ),
    "filter": _without_weights(
        names.NODE_UNSCHEDULABLE,
        names.NODE_NAME,
        names.TAINT_TOLERATION,
        names.NODE_AFFINITY,
        names.NODE_PORTS,
        names.NODE_RESOURCES_FIT,
        names.VOLUME_RESTRICTIONS,
        names.EBS_LIMITS,
        names.GCE_PD_LIMITS,
        names.NODE_VOLUME_LIMITS,
        names.AZURE_DISK_LIMITS,
        names.VOLUME_BINDING,
        names.VOLUME_ZONE,
        names.POD_TOPOLOGY_SPREAD,
        names.INTER_POD_AFFINITY,
    ),
    "postFilter": _without_weights(names.DEFAULT_PREEMPTION),
    "preScore": _without_weights(
        names.INTER_POD_AFFINITY,
        names.POD_TOPOLOGY_SPREAD,
        names.TAINT_TOLERATION,
        names.NODE_AFFINITY,
    ),
    "reserve": _without_weights(names.VOLUME_BINDING),
    "preBind": _without_weights(names.VOLUME_BINDING),
    "bind": _without_weights(names.DEFAULT_BINDER),
}

_SCORE_V1BETA2: Final[Mapping[str, int | None]] = {
    names.NODE_RESOURCES_BALANCED_ALLOCATION: 1,
    names.IMAGE_LOCALITY: 1,
    names.INTER_POD_AFFINITY: 1,
    names.NODE_RESOURCES_FIT: 1,
    names.NODE_AFFINITY: 1,
    names.POD_TOPOLOGY_SPREAD: 2,
    names.TAINT_TOLERATION: 1,
}

_SCORE_V1BETA1: Final[Mapping[str, int | None]] = {
    names.NODE_RESOURCES_BALANCED_ALLOCATION: 1,
    names.IMAGE_LOCALITY: 1,
    names.INTER_POD_AFFINITY: 1,
    names.NODE_RESOURCES_LEAST_ALLOCATED: 1,
    names.NODE_AFFINITY: 1,
    names.NODE_PREFER_AVOID_PODS: 10_000,
    names.POD_TOPOLOGY_SPREAD: 2,
    names.TAINT_TOLERATION: 1,
}

#: The default plugins of v1beta3 in 1.28, in multiPoint, with their weights.
V1BETA3_PLUGINS: Final[Mapping[str, int | None]] = {
    names.PRIORITY_SORT: None,
    names.NODE_UNSCHEDULABLE: None,
    names.NODE_NAME: None,
    names.TAINT_TOLERATION: 3,
    names.NODE_AFFINITY: 2,
    names.NODE_PORTS: None,
    names.NODE_RESOURCES_FIT: 1,
    names.VOLUME_RESTRICTIONS: None,
    names.EBS_LIMITS: None,
    names.GCE_PD_LIMITS: None,
    names.NODE_VOLUME_LIMITS: None,
    names.AZURE_DISK_LIMITS: None,
    names.VOLUME_BINDING: None,
    names.VOLUME_ZONE: None,
    names.POD_TOPOLOGY_SPREAD: 2,
    names.INTER_POD_AFFINITY: 2,
    names.DEFAULT_PREEMPTION: None,
    names.NODE_RESOURCES_BALANCED_ALLOCATION: 1,
    names.IMAGE_LOCALITY: 1,
    names.DEFAULT_BINDER: None,
}

V1BETA2: Final = Release("v1beta2", {**_COMMON, "score": _SCORE_V1BETA2})
V1BETA3: Final = Release("v1beta3", V1BETA2.plugins)
V1BETA1: Final = Release("v1beta1", {**_COMMON, "score": _SCORE_V1BETA1}, old_formulas=True)

_ALPHA: Final[PluginLists] = {
    **_COMMON,
    "preScore": {**_COMMON["preScore"], names.SELECTOR_SPREAD: None},
    "score": {**_SCORE_V1BETA1, names.SELECTOR_SPREAD: 1},
}
V1ALPHA2: Final = Release("v1alpha2", _ALPHA, old_formulas=True, spreads_by_selector=True)
V1ALPHA1: Final = Release("v1alpha1", _ALPHA, old_formulas=True, spreads_by_selector=True)

"""Which in-tree plugins exist, what they implement, and which of them run by default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apps.scheduler.config.types import Plugin, Plugins, PluginSet
from apps.scheduler.plugins import names

#: plugin → the extension points it implements, as `load` wants to be told of any plugin
KnownPlugins = Mapping[str, frozenset[str]]


def _points(text: str) -> frozenset[str]:
    return frozenset(text.split())


IN_TREE_PLUGINS: Final[KnownPlugins] = {
    names.SCHEDULING_GATES: _points("preEnqueue"),
    names.PRIORITY_SORT: _points("queueSort"),
    names.NODE_UNSCHEDULABLE: _points("filter"),
    names.NODE_NAME: _points("filter"),
    names.TAINT_TOLERATION: _points("filter preScore score"),
    names.NODE_AFFINITY: _points("preFilter filter preScore score"),
    names.NODE_PORTS: _points("preFilter filter"),
    names.NODE_RESOURCES_FIT: _points("preFilter filter preScore score"),
    names.VOLUME_RESTRICTIONS: _points("preFilter filter"),
    names.NODE_VOLUME_LIMITS: _points("preFilter filter"),
    names.VOLUME_BINDING: _points("preFilter filter preScore score reserve preBind"),
    names.VOLUME_ZONE: _points("preFilter filter"),
    names.POD_TOPOLOGY_SPREAD: _points("preFilter filter preScore score"),
    names.INTER_POD_AFFINITY: _points("preFilter filter preScore score"),
    names.DYNAMIC_RESOURCES: _points(
        "preEnqueue preFilter filter postFilter score reserve preBind"
    ),
    names.DEFAULT_PREEMPTION: _points("preEnqueue postFilter"),
    names.NODE_RESOURCES_BALANCED_ALLOCATION: _points("preScore score"),
    names.IMAGE_LOCALITY: _points("score"),
    names.DEFAULT_BINDER: _points("bind"),
    names.NODE_DECLARED_FEATURES: _points("preFilter filter"),
}

#: What a profile runs when it says nothing: all through multiPoint, in this order.
DEFAULT_PLUGINS: Final = Plugins(
    multi_point=PluginSet(
        enabled=(
            Plugin(name=names.SCHEDULING_GATES),
            Plugin(name=names.PRIORITY_SORT),
            Plugin(name=names.NODE_UNSCHEDULABLE),
            Plugin(name=names.NODE_NAME),
            Plugin(name=names.TAINT_TOLERATION, weight=3),
            Plugin(name=names.NODE_AFFINITY, weight=2),
            Plugin(name=names.NODE_PORTS),
            Plugin(name=names.NODE_RESOURCES_FIT, weight=1),
            Plugin(name=names.VOLUME_RESTRICTIONS),
            Plugin(name=names.NODE_VOLUME_LIMITS),
            Plugin(name=names.VOLUME_BINDING),
            Plugin(name=names.VOLUME_ZONE),
            Plugin(name=names.POD_TOPOLOGY_SPREAD, weight=2),
            Plugin(name=names.INTER_POD_AFFINITY, weight=2),
            Plugin(name=names.DYNAMIC_RESOURCES, weight=2),
            Plugin(name=names.DEFAULT_PREEMPTION),
            Plugin(name=names.NODE_RESOURCES_BALANCED_ALLOCATION, weight=1),
            Plugin(name=names.IMAGE_LOCALITY, weight=1),
            Plugin(name=names.DEFAULT_BINDER),
            Plugin(name=names.NODE_DECLARED_FEATURES),
        )
    )
)

"""The data about each plugin that the configuration needs; callers pass it in as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from apps.scheduler.config.errors import Problems
from apps.scheduler.config.types import Plugin, Plugins, PluginSet
from apps.scheduler.features import FeatureGates


class Origin(Enum):
    #: runs in every profile that does not disable it
    IN_TREE = "in-tree"
    #: a plugin of an earlier release, which only converted configurations may name
    LEGACY = "legacy"
    OUTSIDE = "outside"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPlugin:
    """The declarations of a plugin class; see `framework.declaration`."""

    name: str
    extension_points: frozenset[str]
    origin: Origin = Origin.OUTSIDE
    #: a frozen dataclass with a default for every field; None: see `takes_raw_args`
    args_type: type[Any] | None = None
    #: decoded arguments → the same with empty values defaulted
    default_args: Callable[[Any], Any] | None = None
    #: (arguments, their path, problems): adds faults of the arguments to the problems
    check_args: Callable[[Any, str, Problems], None] | None = None
    #: (arguments, resources) → arguments of a plugin that leaves these resources to extenders
    ignore_resources: Callable[[Any, tuple[str, ...]], Any] | None = None
    #: None where the plugin does not score, or scores with the weight 1
    default_weight: int | None = None
    #: fields of the arguments that are refused while a feature gate is off: attribute → gate
    gated_args: Mapping[str, str] = field(default_factory=dict)
    #: the feature gate without which the plugin is not in the default profile; "" for none
    feature_gate: str = ""

    @property
    def takes_raw_args(self) -> bool:
        """Whether the plugin receives its arguments as they are written.

        An in-tree plugin without a type ignores its arguments, as upstream.
        """
        return self.args_type is None and self.origin is not Origin.IN_TREE

    @property
    def weight_when_unset(self) -> int:
        """The weight of the plugin where a profile enables it without one; upstream's is 1."""
        return (self.origin is Origin.OUTSIDE and self.default_weight) or 1


#: name → plugin; the in-tree plugins are in the order of the default profile
PluginTable = Mapping[str, KnownPlugin]


def plugins_allowed(plugins: PluginTable, *, legacy: bool) -> PluginTable:
    """The plugins that a configuration may name; `legacy` allows those of earlier releases."""
    return {
        name: plugin
        for name, plugin in plugins.items()
        if legacy or plugin.origin is not Origin.LEGACY
    }


def default_plugins(plugins: PluginTable, gates: FeatureGates) -> Plugins:
    """The plugins of an empty profile: the in-tree plugins, through multiPoint.

    Those of a feature gate that is off are left out.
    """
    enabled = (
        Plugin(name=plugin.name, weight=plugin.default_weight)
        for plugin in plugins.values()
        if plugin.origin is Origin.IN_TREE
        and (not plugin.feature_gate or gates.enabled(plugin.feature_gate))
    )
    return Plugins(multi_point=PluginSet(enabled=tuple(enabled)))

"""What a plugin class declares about itself, besides the extension points that it implements.

Any plugin, in the tree or from outside, may have these class attributes; only ``name`` is required:

    name            under which profiles enable it
    args_type       a frozen dataclass for its arguments, with a default for every field (with
                    `config.fields.described`, the profile editor shows help for it); without
                    one, a plugin from outside receives its arguments as they are written
    default_args    (args) -> args: defaults fields whose empty value counts as absent
    check_args      (args, path, problems): adds what is wrong with the arguments to the problems
    default_weight  of its scores: in the default profile; for a plugin from outside, wherever a
                    profile enables it without a weight
    sign            (pod) -> what the plugin reads of the pod; see framework.reuse.signing
    sign_reads      "nodes", "amounts", "pods" or "domains": what its answer about a node depends on
    skips           (pod) -> whether its PreFilter and PreScore would both return Skip now
    is_legacy       only converted configurations may name it

``default_args`` and ``check_args`` are static methods. Plugins of the tree may also have

    ignore_resources  (args, resources) -> args of a plugin that leaves resources to extenders
    gated_args        attribute of the arguments -> the feature gate without which it is refused
    feature_gate      the feature gate without which the default profile does not have the plugin
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from apps.scheduler.config.conversion import Converter
from apps.scheduler.config.plugin_table import KnownPlugin, Origin, PluginTable
from apps.scheduler.framework.interface import implemented_points


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginPackage:
    """What a package with several plugins provides, where one plugin would be its class."""

    plugins: tuple[type[Any], ...]
    #: for configurations of earlier releases; the first package that has one is asked
    convert: Converter | None = None


def plugin_table(built_in: Iterable[type[Any]], outside: Iterable[type[Any]] = ()) -> PluginTable:
    """The table for `config.load`; plugins of the tree keep their names and their order."""
    table = {plugin.name: _declared(plugin, Origin.IN_TREE) for plugin in built_in}
    for plugin in outside:
        is_legacy = getattr(plugin, "is_legacy", False)
        origin = Origin.LEGACY if is_legacy else Origin.OUTSIDE
        table.setdefault(plugin.name, _declared(plugin, origin))
    return table


def _declared(plugin: type[Any], origin: Origin) -> KnownPlugin:
    return KnownPlugin(
        name=plugin.name,
        extension_points=implemented_points(plugin),
        origin=origin,
        args_type=getattr(plugin, "args_type", None),
        default_args=getattr(plugin, "default_args", None),
        check_args=getattr(plugin, "check_args", None),
        ignore_resources=getattr(plugin, "ignore_resources", None),
        default_weight=getattr(plugin, "default_weight", None),
        gated_args=getattr(plugin, "gated_args", {}),
        feature_gate=getattr(plugin, "feature_gate", ""),
    )

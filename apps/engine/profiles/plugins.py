"""Out-of-tree scheduler plugins: loads and checks them, and registers them for configurations.

A plugin is a class that an installed package provides as an entry point of the group
`schedweb.plugins`, or that the setting SCHEDWEB_PLUGINS names ("package.module:Class"). It runs
in a cluster when a profile of the cluster enables it. A `PluginPackage` in place of a class
provides several plugins, and may provide the converter of earlier configurations.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from apps.scheduler.config.conversion import Conversion
from apps.scheduler.config.errors import Cause, ConfigError
from apps.scheduler.config.plugin_table import PluginTable, plugins_allowed
from apps.scheduler.framework.declaration import PluginPackage, plugin_table
from apps.scheduler.framework.interface import implemented_points
from apps.scheduler.framework.outside import checked, missing_methods
from apps.scheduler.framework.per_node import PerNodePlugin, columnar
from apps.scheduler.framework.profile_plugins import PluginFactory
from apps.scheduler.plugins.registry import BUILT_IN, EXAMPLES, PLUGINS

GROUP = "schedweb.plugins"


def custom_plugins() -> Mapping[str, type[Any]]:
    """Every out-of-tree plugin by name, as a class whose methods take columns.

    Raises ImproperlyConfigured when one cannot be imported, is not a plugin, or its name is taken.
    """
    return find_plugins(tuple(settings.SCHEDWEB_PLUGINS))


@lru_cache(maxsize=1)
def find_plugins(paths: tuple[str, ...]) -> Mapping[str, type[Any]]:
    """`custom_plugins` for a given value of the setting.

    Raises ImproperlyConfigured for a plugin that cannot be used.
    """
    plugins: dict[str, type[Any]] = {}
    for source, package in _load_packages(paths):
        for plugin in package.plugins:
            name = _check_name(plugin, source)
            if name in BUILT_IN or any(name == example.name for example in EXAMPLES):
                raise ImproperlyConfigured(f"{source}: {name} is the name of an in-tree plugin")
            if name in plugins and plugins[name] is not plugin:
                raise ImproperlyConfigured(f"{source}: another plugin is named {name}")
            plugins[name] = plugin
    return {
        name: checked(columnar(plugin) if issubclass(plugin, PerNodePlugin) else plugin)
        for name, plugin in plugins.items()
    }


def convert(
    source: str | bytes | Mapping[str, Any],
    *,
    policy: str | bytes | Mapping[str, Any] | None = None,
    feature_gates: Mapping[str, bool] | None = None,
) -> Conversion:
    """A configuration of an earlier release as v1, as `config.conversion.Converter` says.

    Raises ConfigError, also if no package of this site has a converter.
    """
    for _, package in _load_packages(tuple(settings.SCHEDWEB_PLUGINS)):
        if package.convert is not None:
            return package.convert(
                source, known_plugins(), policy=policy, feature_gates=feature_gates
            )
    raise ConfigError([Cause("", "no plugin package of this site converts configurations")])


def registry() -> Mapping[str, PluginFactory]:
    """Every plugin that a profile may enable, by name."""
    examples = {plugin.name: plugin for plugin in EXAMPLES}
    return {**custom_plugins(), **examples, **BUILT_IN}


def known_plugins() -> PluginTable:
    """Every plugin as it declares itself, for `apps.scheduler.config.load`."""
    return plugin_table(PLUGINS, outside=[*EXAMPLES, *custom_plugins().values()])


def plugin_names() -> list[str]:
    """The plugins that a new configuration may name, sorted."""
    return sorted(plugins_allowed(known_plugins(), legacy=False))


def _load_packages(paths: tuple[str, ...]) -> Iterator[tuple[str, PluginPackage]]:
    """Pairs of a source, for error messages, and what it provides."""
    for source, provided in _load_objects(paths):
        is_package = isinstance(provided, PluginPackage)
        yield source, provided if is_package else PluginPackage(plugins=(provided,))


def _load_objects(paths: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for entry in entry_points(group=GROUP):
        source = f"entry point {entry.name} = {entry.value}"
        try:
            yield source, entry.load()
        except Exception as problem:
            raise ImproperlyConfigured(f"{source}: {problem}") from problem
    for path in paths:
        source = f"SCHEDWEB_PLUGINS: {path}"
        module, _, name = path.rpartition(":" if ":" in path else ".")
        try:
            yield source, getattr(import_module(module), name)
        except Exception as problem:
            form = "" if ":" in path else " (write package.module:Class)"
            raise ImproperlyConfigured(f"{source}: {problem}{form}") from problem


def _check_name(plugin: Any, source: str) -> str:
    """The name of a plugin; raises ImproperlyConfigured when the class cannot be used."""
    if not inspect.isclass(plugin):
        raise ImproperlyConfigured(f"{source} is not a class")
    name = getattr(plugin, "name", None)
    if not isinstance(name, str) or not name:
        raise ImproperlyConfigured(f"{source}: the class needs a string attribute `name`")
    for there, missing in missing_methods(plugin):
        raise ImproperlyConfigured(f"{source}: the class has {there}, but not {missing}")
    if not implemented_points(plugin):
        raise ImproperlyConfigured(f"{source}: the class implements no extension point")
    return name

"""The arguments of plugins: decoded, defaulted and checked as the plugins declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from apps.scheduler.config.decoding import camel_case, decode
from apps.scheduler.config.encoding import to_plain
from apps.scheduler.config.errors import Problems, child
from apps.scheduler.config.plugin_table import KnownPlugin, PluginTable
from apps.scheduler.config.types import API_VERSION, Extender, PluginConfig, Profile, WrittenProfile
from apps.scheduler.features import FeatureGates

_TYPE_META: Final = ("apiVersion", "kind")


def decode_args(
    profile: WrittenProfile, known: PluginTable, path: str, problems: Problems
) -> list[Any]:
    """The arguments of each entry of pluginConfig, typed if the plugin has a type for them."""
    return [
        _plugin_args(config, known, f"{path}.pluginConfig[{index}].args", problems)
        for index, config in enumerate(profile.plugin_config)
    ]


def _plugin_args(config: PluginConfig, known: PluginTable, path: str, problems: Problems) -> Any:
    plugin = known.get(config.name)
    if plugin is None or plugin.takes_raw_args:
        return config.args
    if plugin.args_type is None:
        return None
    raw = config.args or {}
    _check_args_type(config.name, raw, path, problems)
    args = decode(plugin.args_type, raw, path, problems, ignore=_TYPE_META)
    return plugin.default_args(args) if plugin.default_args is not None else args


def _check_args_type(plugin: str, raw: Mapping[str, Any], path: str, problems: Problems) -> None:
    kind, version = raw.get("kind"), raw.get("apiVersion")
    if kind and kind != f"{plugin}Args":
        problems.add(
            child(path, "kind"),
            f"args for plugin {plugin} were not of type {plugin}Args, got {kind}",
        )
    if version and version != API_VERSION:
        problems.add(
            child(path, "apiVersion"),
            f'no kind "{plugin}Args" is registered for version "{version}"',
        )


def check_args(
    written: WrittenProfile,
    given: list[Any],
    known: PluginTable,
    gates: FeatureGates,
    path: str,
    problems: Problems,
) -> None:
    for index, (config, args) in enumerate(zip(written.plugin_config, given, strict=True)):
        plugin = known.get(config.name)
        if plugin is not None and args is not None:
            at = f"{path}.pluginConfig[{index}].args"
            _check(plugin, _check_gated(plugin, args, gates, at, problems), at, problems)


def _check_gated(
    plugin: KnownPlugin, args: Any, gates: FeatureGates, path: str, problems: Problems
) -> Any:
    """The arguments without the fields whose feature gate is off; such a field is refused."""
    for attribute, gate in plugin.gated_args.items():
        value, name = getattr(args, attribute), camel_case(attribute)
        if value is not None and not gates.enabled(gate):
            said = f"unexpected field `{name}`, remove it or turn on the feature gate {gate}"
            problems.invalid(child(path, name), to_plain(value), said)
            args = replace(args, **{attribute: None})
    return args


def _check(plugin: KnownPlugin, args: Any, path: str, problems: Problems) -> None:
    if plugin.check_args is None:
        return
    try:
        plugin.check_args(args, path, problems)
    except Exception as raised:
        said = f"{type(raised).__name__}: {raised}"
        problems.add(path, f"plugin {plugin.name} failed to check its arguments: {said}")


def args_needed(
    plugins: Iterable[str], written: WrittenProfile, given: list[Any], known: PluginTable
) -> dict[str, Any]:
    """The arguments of the plugins in use: those given, or else the defaults."""
    by_name = {config.name: args for config, args in zip(written.plugin_config, given, strict=True)}
    needed: dict[str, Any] = {}
    for name in plugins:
        cls = known[name].args_type if name in known else None
        if by_name.get(name) is not None:
            needed[name] = by_name[name]
        elif cls is not None:
            needed[name] = cls()
    return needed


def without_resources_of_extenders(
    profiles: tuple[Profile, ...],
    extenders: tuple[Extender, ...],
    known: PluginTable,
    problems: Problems,
) -> tuple[Profile, ...]:
    """Profiles whose plugins ignore the resources that extenders manage.

    Every profile must have a plugin that supports this (NodeResourcesFit in the tree), as upstream.
    """
    ignored = tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    if not ignored:
        return profiles
    able = [plugin for plugin in known.values() if plugin.ignore_resources is not None]
    changed = []
    for index, profile in enumerate(profiles):
        if not any(plugin.name in profile.args for plugin in able):
            missing = " or ".join(f"{plugin.name}Args" for plugin in able)
            said = f"can't find {missing}, which extenders' ignoredByScheduler changes"
            problems.add(f"profiles[{index}].pluginConfig", said)
        changed.append(_ignoring(profile, able, ignored))
    return tuple(changed)


def _ignoring(profile: Profile, able: Iterable[KnownPlugin], resources: tuple[str, ...]) -> Profile:
    args = dict(profile.args)
    for plugin in able:
        if plugin.name in args and plugin.ignore_resources is not None:
            args[plugin.name] = plugin.ignore_resources(args[plugin.name], resources)
    return replace(profile, args=args)

"""`load`: from the text of a KubeSchedulerConfiguration to what the scheduler runs with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from apps.scheduler.config.decoding import decode
from apps.scheduler.config.defaulting import with_defaults
from apps.scheduler.config.errors import Cause, ConfigError, Problems, child
from apps.scheduler.config.expansion import expand
from apps.scheduler.config.plugin_table import KnownPlugin, PluginTable, plugins_allowed
from apps.scheduler.config.reading import read
from apps.scheduler.config.types import (
    API_VERSION,
    KIND,
    Configuration,
    Extender,
    PluginConfig,
    Profile,
    WrittenConfiguration,
    WrittenProfile,
)
from apps.scheduler.config.validation import validate

_ARGS_TYPE_META = ("apiVersion", "kind")


def load(
    source: str | bytes | Mapping[str, Any], plugins: PluginTable, *, legacy: bool = False
) -> Configuration:
    """The configuration of a YAML or JSON text (or of the object it holds), as 1.36 reads it.

    `plugins` are all that exist; `legacy` allows those of earlier releases, for converted
    configurations. Raises ConfigError with every fault of the first stage that finds any: reading,
    decoding, then validation together with the expansion of the profiles.
    """
    body = read(source)
    _check_type(body)
    problems = Problems()
    known = plugins_allowed(plugins, legacy=legacy)
    written = with_defaults(decode(WrittenConfiguration, body, "", problems))
    args = [
        _decode_args(profile, known, f"profiles[{index}]", problems)
        for index, profile in enumerate(written.profiles)
    ]
    problems.raise_if_any()
    removed = {plugin.name for plugin in plugins.values() if plugin.removed_in_v1}
    validate(written, problems, removed=removed - known.keys())
    profiles = tuple(
        _profile(profile, given, known, f"profiles[{index}]", problems)
        for index, (profile, given) in enumerate(zip(written.profiles, args, strict=True))
    )
    profiles = _without_resources_of_extenders(profiles, written.extenders, known, problems)
    problems.raise_if_any()
    return _configuration(written, profiles, legacy=legacy)


def default_configuration(plugins: PluginTable) -> Configuration:
    """What kube-scheduler runs with when it is given an empty configuration."""
    return load({"apiVersion": API_VERSION, "kind": KIND}, plugins)


def _check_type(body: Mapping[str, Any]) -> None:
    version, kind = body.get("apiVersion"), body.get("kind")
    missing = [Cause(name, "Required value") for name in _ARGS_TYPE_META if not body.get(name)]
    if missing:
        raise ConfigError(missing)
    if version != API_VERSION or kind != KIND:
        said = f'no kind "{kind}" is registered for version "{version}"'
        known = f'this scheduler reads {KIND} of "{API_VERSION}"; convert older ones first'
        raise ConfigError([Cause("apiVersion" if kind == KIND else "kind", f"{said}: {known}")])


def _decode_args(
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
    args = decode(plugin.args_type, raw, path, problems, ignore=_ARGS_TYPE_META)
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


def _profile(
    written: WrittenProfile,
    given: list[Any],
    known: PluginTable,
    path: str,
    problems: Problems,
) -> Profile:
    _check_args(written, given, known, path, problems)
    name = written.scheduler_name or ""
    expansion = expand(
        written.plugins, known, scheduler_name=name, path=f"{path}.plugins", problems=problems
    )
    return Profile(
        scheduler_name=name,
        percentage_of_nodes_to_score=written.percentage_of_nodes_to_score,
        plugins=expansion.plugins,
        score_weights={name: expansion.weights.get(name, 1) for name in expansion.plugins["score"]},
        args=_args_needed(expansion.needed, written, given, known),
    )


def _check_args(
    written: WrittenProfile, given: list[Any], known: PluginTable, path: str, problems: Problems
) -> None:
    for index, (config, args) in enumerate(zip(written.plugin_config, given, strict=True)):
        plugin = known.get(config.name)
        if plugin is not None and plugin.check_args is not None and args is not None:
            plugin.check_args(args, f"{path}.pluginConfig[{index}].args", problems)


def _args_needed(
    plugins: Iterable[str], written: WrittenProfile, given: list[Any], known: PluginTable
) -> dict[str, Any]:
    """The arguments of the plugins in use: those given, else the default ones."""
    by_name = {config.name: args for config, args in zip(written.plugin_config, given, strict=True)}
    needed: dict[str, Any] = {}
    for name in plugins:
        cls = known[name].args_type if name in known else None
        if by_name.get(name) is not None:
            needed[name] = by_name[name]
        elif cls is not None:
            needed[name] = cls()
    return needed


def _without_resources_of_extenders(
    profiles: tuple[Profile, ...],
    extenders: tuple[Extender, ...],
    known: PluginTable,
    problems: Problems,
) -> tuple[Profile, ...]:
    """Profiles whose plugins leave to the extenders the resources that these ask for.

    Every profile must have a plugin that can do so (NodeResourcesFit in the tree), as upstream.
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


def _configuration(
    written: WrittenConfiguration, profiles: tuple[Profile, ...], *, legacy: bool
) -> Configuration:
    return Configuration(
        profiles=profiles,
        parallelism=written.parallelism,
        percentage_of_nodes_to_score=written.percentage_of_nodes_to_score,
        pod_initial_backoff_seconds=written.pod_initial_backoff_seconds,
        pod_max_backoff_seconds=written.pod_max_backoff_seconds,
        # Those that may fail come last, so that the others' refusals save their calls.
        extenders=tuple(sorted(written.extenders, key=lambda extender: extender.ignorable)),
        leader_election=written.leader_election,
        client_connection=written.client_connection,
        enable_profiling=written.enable_profiling,
        enable_contention_profiling=bool(written.enable_contention_profiling),
        delay_cache_until_active=written.delay_cache_until_active,
        legacy=legacy,
    )

"""`load`: from the text of a KubeSchedulerConfiguration to what the scheduler runs with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from apps.scheduler.config.args import PLUGIN_ARGS, NodeResourcesFitArgs
from apps.scheduler.config.decoding import decode
from apps.scheduler.config.defaulting import args_as_given, args_with_defaults, with_defaults
from apps.scheduler.config.errors import Cause, ConfigError, Problems, child
from apps.scheduler.config.expansion import expand
from apps.scheduler.config.in_tree import IN_TREE_PLUGINS, KnownPlugins
from apps.scheduler.config.legacy import LEGACY_PLUGIN_ARGS, LEGACY_PLUGINS
from apps.scheduler.config.reading import read
from apps.scheduler.config.types import (
    API_VERSION,
    KIND,
    Configuration,
    Extender,
    Profile,
    WrittenConfiguration,
    WrittenProfile,
)
from apps.scheduler.config.validation import validate
from apps.scheduler.config.validation_args import validate_args
from apps.scheduler.plugins.names import NODE_RESOURCES_FIT

_ARGS_TYPE_META = ("apiVersion", "kind")


def load(
    source: str | bytes | Mapping[str, Any],
    *,
    known_plugins: Mapping[str, Collection[str]] | None = None,
    legacy: bool = False,
) -> Configuration:
    """The configuration of a YAML or JSON text (or of the object it holds), as 1.36 reads it.

    `known_plugins` names plugins from outside the tree, each with the extension points that it
    implements; `legacy` allows the plugins of earlier releases, for converted configurations.
    Raises ConfigError with every fault of the first stage that finds any: reading, decoding,
    then validation together with the expansion of the profiles.
    """
    body = read(source)
    _check_type(body)
    problems = Problems()
    written = with_defaults(decode(WrittenConfiguration, body, "", problems))
    args = [
        _decode_args(profile, f"profiles[{index}]", problems, legacy=legacy)
        for index, profile in enumerate(written.profiles)
    ]
    problems.raise_if_any()
    validate(written, problems, legacy=legacy)
    known = _known(known_plugins, legacy=legacy)
    profiles = tuple(
        _profile(profile, given, known, f"profiles[{index}]", problems)
        for index, (profile, given) in enumerate(zip(written.profiles, args, strict=True))
    )
    profiles = _without_resources_of_extenders(profiles, written.extenders, problems)
    problems.raise_if_any()
    return _configuration(written, profiles, legacy=legacy)


@lru_cache(maxsize=1)
def default_configuration() -> Configuration:
    """What kube-scheduler runs with when it is given an empty configuration."""
    return load({"apiVersion": API_VERSION, "kind": KIND})


def _check_type(body: Mapping[str, Any]) -> None:
    version, kind = body.get("apiVersion"), body.get("kind")
    missing = [Cause(name, "Required value") for name in _ARGS_TYPE_META if not body.get(name)]
    if missing:
        raise ConfigError(missing)
    if version != API_VERSION or kind != KIND:
        said = f'no kind "{kind}" is registered for version "{version}"'
        known = f'this scheduler reads {KIND} of "{API_VERSION}"; convert older ones first'
        raise ConfigError([Cause("apiVersion" if kind == KIND else "kind", f"{said}: {known}")])


def _known(custom: Mapping[str, Collection[str]] | None, *, legacy: bool) -> KnownPlugins:
    known = {name: frozenset(points) for name, points in (custom or {}).items()}
    return {**known, **(LEGACY_PLUGINS if legacy else {}), **IN_TREE_PLUGINS}


def _decode_args(
    profile: WrittenProfile, path: str, problems: Problems, *, legacy: bool
) -> list[Any]:
    """The typed arguments of each entry of pluginConfig; others stay as they are written."""
    types = {**PLUGIN_ARGS, **(LEGACY_PLUGIN_ARGS if legacy else {})}
    decoded = []
    for index, config in enumerate(profile.plugin_config):
        cls = types.get(config.name)
        at = f"{path}.pluginConfig[{index}].args"
        # An in-tree plugin that takes no arguments does not look at them, as upstream.
        given: Any = None if config.name in IN_TREE_PLUGINS else config.args
        if cls is not None:
            raw = config.args or {}
            _check_args_type(config.name, raw, at, problems)
            raw = args_as_given(config.name, raw)
            given = args_with_defaults(decode(cls, raw, at, problems, ignore=_ARGS_TYPE_META))
        decoded.append(given)
    return decoded


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
    known: KnownPlugins,
    path: str,
    problems: Problems,
) -> Profile:
    for index, args in enumerate(given):
        validate_args(args, f"{path}.pluginConfig[{index}].args", problems)
    name = written.scheduler_name or ""
    expansion = expand(
        written.plugins, known, scheduler_name=name, path=f"{path}.plugins", problems=problems
    )
    return Profile(
        scheduler_name=name,
        percentage_of_nodes_to_score=written.percentage_of_nodes_to_score,
        plugins=expansion.plugins,
        score_weights={name: expansion.weights.get(name, 1) for name in expansion.plugins["score"]},
        args=_args_needed(expansion.needed, written, given),
    )


def _args_needed(
    plugins: Iterable[str], written: WrittenProfile, given: list[Any]
) -> dict[str, Any]:
    """The arguments of the plugins in use: those given, else the default ones."""
    by_name = {config.name: args for config, args in zip(written.plugin_config, given, strict=True)}
    needed: dict[str, Any] = {}
    for name in plugins:
        cls = PLUGIN_ARGS.get(name) or LEGACY_PLUGIN_ARGS.get(name)
        if by_name.get(name) is not None:
            needed[name] = by_name[name]
        elif cls is not None:
            needed[name] = cls()
    return needed


def _without_resources_of_extenders(
    profiles: tuple[Profile, ...], extenders: tuple[Extender, ...], problems: Problems
) -> tuple[Profile, ...]:
    """Profiles whose NodeResourcesFit leaves to the extenders what they ask to be left.

    As upstream, these resources take the place of `ignoredResources` in every profile.
    """
    ignored = tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    if not ignored:
        return profiles
    changed = []
    for index, profile in enumerate(profiles):
        fit = profile.args.get(NODE_RESOURCES_FIT)
        if isinstance(fit, NodeResourcesFitArgs):
            args = {**profile.args, NODE_RESOURCES_FIT: replace(fit, ignored_resources=ignored)}
            profile = replace(profile, args=args)
        else:
            said = "can't find NodeResourcesFitArgs, which extenders' ignoredByScheduler changes"
            problems.add(f"profiles[{index}].pluginConfig", said)
        changed.append(profile)
    return tuple(changed)


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

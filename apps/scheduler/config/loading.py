"""`load`: from the text of a KubeSchedulerConfiguration to the configuration in effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.scheduler.config.decoding import decode
from apps.scheduler.config.defaulting import with_defaults
from apps.scheduler.config.errors import Cause, ConfigError, Problems, child
from apps.scheduler.config.expansion import expand
from apps.scheduler.config.plugin_args import (
    args_needed,
    check_args,
    decode_args,
    without_resources_of_extenders,
)
from apps.scheduler.config.plugin_table import PluginTable, plugins_allowed
from apps.scheduler.config.reading import read
from apps.scheduler.config.types import (
    API_VERSION,
    KIND,
    Configuration,
    Profile,
    WrittenConfiguration,
    WrittenProfile,
)
from apps.scheduler.config.validation import REMOVED_PLUGINS, validate
from apps.scheduler.features import FeatureGates
from apps.scheduler.features import find_faults as find_gate_faults

_TYPE_META = ("apiVersion", "kind")
#: What to do with an older version.
CONVERT_FIRST = "convert older ones first"


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
    written, args = _decode(body, known, problems)
    problems.raise_if_any()
    profiles = _expand(written, args, known, problems)
    problems.raise_if_any()
    return _configuration(written, profiles, legacy=legacy)


def find_faults(
    source: str | bytes | Mapping[str, Any], plugins: PluginTable, *, legacy: bool = False
) -> list[Cause]:
    """The faults of all stages of `load` at once; empty for a valid configuration.

    A field that cannot be decoded has its default in the later stages, so what they say about it,
    or about the list that it is an element of, is left out.
    """
    try:
        body = read(source)
        _check_type(body)
    except ConfigError as error:
        return error.causes
    decoding, validating = Problems(), Problems()
    known = plugins_allowed(plugins, legacy=legacy)
    written, args = _decode(body, known, decoding)
    _expand(written, args, known, validating)
    faulty = [_affected(cause.field) for cause in decoding.causes]
    later = (
        cause
        for cause in validating.causes
        if not any(
            _is_within(cause.field, each) or _is_within(each, cause.field) for each in faulty
        )
    )
    return list(dict.fromkeys([*decoding.causes, *later]))


def _affected(path: str) -> str:
    """The field that a fault concerns: the list, if an element of it cannot be decoded."""
    return path.rpartition("[")[0] if path.endswith("]") else path


def _is_within(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


def _decode(
    body: Mapping[str, Any], known: PluginTable, problems: Problems
) -> tuple[WrittenConfiguration, list[list[Any]]]:
    """The document with defaults, and the arguments of each profile's pluginConfig."""
    written = with_defaults(decode(WrittenConfiguration, body, "", problems))
    args = [
        decode_args(profile, known, f"profiles[{index}]", problems)
        for index, profile in enumerate(written.profiles)
    ]
    return written, args


def _expand(
    written: WrittenConfiguration,
    args: list[list[Any]],
    known: PluginTable,
    problems: Problems,
) -> tuple[Profile, ...]:
    """Validate a document and expand its profiles."""
    validate(written, problems, removed=REMOVED_PLUGINS - known.keys())
    gates = _gates(written, problems)
    profiles = tuple(
        _profile(profile, given, known, gates, f"profiles[{index}]", problems)
        for index, (profile, given) in enumerate(zip(written.profiles, args, strict=True))
    )
    return without_resources_of_extenders(profiles, written.extenders, known, problems)


def default_configuration(plugins: PluginTable) -> Configuration:
    """The configuration of kube-scheduler for an empty document."""
    return load({"apiVersion": API_VERSION, "kind": KIND}, plugins)


def _check_type(body: Mapping[str, Any]) -> None:
    version, kind = body.get("apiVersion"), body.get("kind")
    missing = [Cause(name, "Required value") for name in _TYPE_META if not body.get(name)]
    if missing:
        raise ConfigError(missing)
    if version != API_VERSION or kind != KIND:
        said = f'no kind "{kind}" is registered for version "{version}"'
        known = f'this scheduler reads {KIND} of "{API_VERSION}"; {CONVERT_FIRST}'
        raise ConfigError([Cause("apiVersion" if kind == KIND else "kind", f"{said}: {known}")])


def _gates(written: WrittenConfiguration, problems: Problems) -> FeatureGates:
    """The gates of a document; the defaults if they cannot be set as written."""
    faults = find_gate_faults(written.feature_gates)
    for name, message in faults:
        problems.add(child("featureGates", name), message)
    return FeatureGates() if faults else FeatureGates(written.feature_gates)


def _profile(
    written: WrittenProfile,
    given: list[Any],
    known: PluginTable,
    gates: FeatureGates,
    path: str,
    problems: Problems,
) -> Profile:
    check_args(written, given, known, gates, path, problems)
    name = written.scheduler_name or ""
    expansion = expand(
        written.plugins,
        known,
        gates=gates,
        scheduler_name=name,
        path=f"{path}.plugins",
        problems=problems,
    )
    return Profile(
        scheduler_name=name,
        percentage_of_nodes_to_score=written.percentage_of_nodes_to_score,
        plugins=expansion.plugins,
        score_weights={name: expansion.weights.get(name, 1) for name in expansion.plugins["score"]},
        args=args_needed(expansion.needed, written, given, known),
    )


def _configuration(
    written: WrittenConfiguration, profiles: tuple[Profile, ...], *, legacy: bool
) -> Configuration:
    return Configuration(
        profiles=profiles,
        parallelism=written.parallelism,
        percentage_of_nodes_to_score=written.percentage_of_nodes_to_score,
        pod_initial_backoff_seconds=written.pod_initial_backoff_seconds,
        pod_max_backoff_seconds=written.pod_max_backoff_seconds,
        # Checks that may fail come last, so that they do not run after other errors.
        extenders=tuple(sorted(written.extenders, key=lambda extender: extender.ignorable)),
        leader_election=written.leader_election,
        client_connection=written.client_connection,
        enable_profiling=written.enable_profiling,
        enable_contention_profiling=bool(written.enable_contention_profiling),
        delay_cache_until_active=written.delay_cache_until_active,
        feature_gates=written.feature_gates,
        legacy=legacy,
    )

"""`convert`: from any earlier scheduler configuration to a v1 one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

from apps.scheduler.config.conversion import Conversion
from apps.scheduler.config.errors import Cause, ConfigError
from apps.scheduler.config.loading import load
from apps.scheduler.config.plugin_table import Origin, PluginTable
from apps.scheduler.config.reading import read
from apps.scheduler.config.types import API_VERSION, KIND
from apps.scheduler.config.warnings import find_warnings
from legacy_plugins.conversion.alpha import convert_v1alpha1
from legacy_plugins.conversion.gates import converted_gates
from legacy_plugins.conversion.policy import convert_policy
from legacy_plugins.conversion.profiles import convert_profiles, convert_v1beta3
from legacy_plugins.conversion.releases import V1ALPHA2, V1BETA1, V1BETA2
from legacy_plugins.conversion.written import (
    Note,
    OldConfiguration,
    read_as,
    read_policy,
)

_GROUPS: Final = ("kubescheduler.config.k8s.io", "componentconfig")
_RELEASES: Final = {release.version: release for release in (V1ALPHA2, V1BETA1, V1BETA2)}
_VERSIONS: Final = ("v1alpha1", *_RELEASES, "v1beta3")
_POLICY_VERSIONS: Final = ("v1", API_VERSION)
_POLICY_KEY: Final = "policy.cfg"
_IMAGES: Final = (
    "ImageLocality also counts the images of init containers and image volumes; before 1.35 only "
    "those of containers"
)
#: What every converted configuration does differently from its release.
DIFFERENCES: Final = (
    "requests of sidecar containers, pod-level requests and resizes in progress count; earlier "
    "releases did not have them",
    "a pod is retried by an event only if a plugin that rejected it says that the event may help; "
    "before 1.32 any registered event retried it",
)


def convert(
    source: str | bytes | Mapping[str, Any],
    plugins: PluginTable,
    *,
    policy: str | bytes | Mapping[str, Any] | None = None,
    feature_gates: Mapping[str, bool] | None = None,
) -> Conversion:
    """A `Converter`. `policy` belongs to a v1alpha1 configuration; it may be in its ConfigMap."""
    body = _unwrap(read(source))
    notes: list[str] = []
    if body.get("apiVersion") == API_VERSION and body.get("kind") == KIND:
        warnings = find_warnings(load(body, plugins))
        return Conversion(_dump(body), False, ("this is already a v1 configuration", *warnings))
    if feature_gates:
        body = {**body, "featureGates": {**(body.get("featureGates") or {}), **feature_gates}}
    given = None if policy is None else read(policy)
    document = _convert_document(body, given, plugins, notes.append)
    gates = converted_gates(body.get("featureGates") or {}, notes.append)
    document = {"apiVersion": API_VERSION, "kind": KIND, **document, "featureGates": gates}
    configuration = load(document, plugins, legacy=True)
    used = {name for profile in configuration.profiles for name in profile.plugin_names}
    notes += [_IMAGES] if "ImageLocality" in used else []
    notes += [*DIFFERENCES, *find_warnings(configuration)]
    legacy = {name for name in used if plugins[name].origin is Origin.LEGACY}
    if kept := sorted(legacy):
        notes.append(f"these plugins of earlier releases are kept: {', '.join(kept)}")
    return Conversion(_dump(document), True, tuple(dict.fromkeys(notes)))


def _convert_document(
    body: Mapping[str, Any],
    policy: Mapping[str, Any] | None,
    plugins: PluginTable,
    note: Note,
) -> dict[str, Any]:
    built_in = {n: plugin for n, plugin in plugins.items() if plugin.origin is not Origin.OUTSIDE}
    api_version, kind = body.get("apiVersion"), body.get("kind")
    if kind == "Policy" and api_version in _POLICY_VERSIONS:
        return convert_policy(read_policy(body, note), built_in, note)
    group, _, version = str(api_version).partition("/")
    if kind != KIND or group not in _GROUPS or version not in _VERSIONS:
        raise ConfigError([Cause("apiVersion", f'cannot convert kind "{kind}" of "{api_version}"')])
    old = read_as(OldConfiguration, body, note)
    if version == "v1alpha1":
        given = None if policy is None else read_policy(_unwrap(policy), note)
        return convert_v1alpha1(old, given, built_in, note)
    if version == "v1beta3":
        return convert_v1beta3(old, plugins, note)
    return convert_profiles(old, _RELEASES[version], built_in, note)


def _unwrap(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The Policy in a ConfigMap, from which earlier schedulers read it."""
    data = body.get("data")
    if body.get("kind") == "ConfigMap" and isinstance(data, Mapping) and _POLICY_KEY in data:
        return read(data[_POLICY_KEY])
    return body


def _dump(document: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)

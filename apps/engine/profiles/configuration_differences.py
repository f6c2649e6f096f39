"""The effective differences between two configurations: plugins, weights, arguments, settings.

Both are compared with defaults applied, so a default that is set explicitly is not a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import msgspec

from apps.cluster.field_differences import differences
from apps.engine.profiles.private_keys import hide_value
from apps.scheduler.config import EXTENSION_POINTS, Configuration, Profile
from apps.scheduler.config.decoding import camel_case

NOTHING = "–"
#: Compared separately, or without effect.
_NOT_SETTINGS = frozenset({"profiles", "extenders", "leader_election", "client_connection"})
_GATES = "feature_gates"
#: Extension points at which the order of plugins has no effect: scores are summed.
_UNORDERED = frozenset({"preScore", "score"})


@dataclass(frozen=True, slots=True)
class ConfigurationDifference:
    """One difference, with its value before and after."""

    #: a setting, plugin, weight or argument
    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ProfileDifferences:
    """The differences in one profile."""

    #: empty: the settings of all profiles
    scheduler_name: str
    status: Literal["added", "removed", "changed"]
    differences: Sequence[ConfigurationDifference]


def compare_configurations(before: Configuration, after: Configuration) -> list[ProfileDifferences]:
    """The settings of all profiles first, then each profile that differs."""
    differences = []
    if settings := list(_compare_settings(before, after)):
        differences.append(ProfileDifferences("", "changed", settings))
    old = {profile.scheduler_name: profile for profile in before.profiles}
    new = {profile.scheduler_name: profile for profile in after.profiles}
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in new:
            differences.append(ProfileDifferences(name, "removed", ()))
        elif name not in old:
            differences.append(ProfileDifferences(name, "added", ()))
        elif changed := list(_compare_profiles(old[name], new[name])):
            differences.append(ProfileDifferences(name, "changed", changed))
    return differences


def _compare_settings(
    before: Configuration, after: Configuration
) -> Iterator[ConfigurationDifference]:
    for field in fields(Configuration):
        if field.name not in _NOT_SETTINGS | {_GATES}:
            yield from _compare_values(
                camel_case(field.name), getattr(before, field.name), getattr(after, field.name)
            )
    for name in sorted(before.feature_gates.keys() | after.feature_gates.keys()):
        yield from _compare_values(
            f"feature gate {name}", before.gates.enabled(name), after.gates.enabled(name)
        )
    old, new = _to_plain(before.extenders), _to_plain(after.extenders)
    for each in differences(old, new):
        yield ConfigurationDifference(
            f"extenders{each.path}",
            _to_text(hide_value(each.before, each.path)),
            _to_text(hide_value(each.after, each.path)),
        )


def _compare_profiles(before: Profile, after: Profile) -> Iterator[ConfigurationDifference]:
    yield from _compare_values(
        "percentageOfNodesToScore",
        before.percentage_of_nodes_to_score,
        after.percentage_of_nodes_to_score,
    )
    for point in EXTENSION_POINTS:
        yield from _compare_point(
            point, before.plugins.get(point, ()), after.plugins.get(point, ())
        )
    for name in sorted({*before.score_weights, *after.score_weights}):
        old, new = before.score_weights.get(name), after.score_weights.get(name)
        yield from _compare_values(f"weight of {name}", old, new)
    for each in differences(_to_plain(before.args), _to_plain(after.args)):
        yield ConfigurationDifference(
            f"arguments: {each.path}", _to_text(each.before), _to_text(each.after)
        )


def _compare_point(
    point: str, before: Sequence[str], after: Sequence[str]
) -> Iterator[ConfigurationDifference]:
    """Plugins enabled and disabled at one extension point, or their new order."""
    for name in before:
        if name not in after:
            yield ConfigurationDifference(f"{point}: {name}", "enabled", "disabled")
    for name in after:
        if name not in before:
            yield ConfigurationDifference(f"{point}: {name}", "disabled", "enabled")
    same = set(before) == set(after)
    if same and tuple(before) != tuple(after) and point not in _UNORDERED:
        yield ConfigurationDifference(f"{point}: order", ", ".join(before), ", ".join(after))


def _compare_values(name: str, before: Any, after: Any) -> Iterator[ConfigurationDifference]:
    if before != after:
        yield ConfigurationDifference(name, _to_text(before), _to_text(after))


def _to_plain(value: Any) -> Any:
    """Plain data, with keys as in the configuration file."""
    plain = value if isinstance(value, Mapping | list) else msgspec.to_builtins(value, enc_hook=str)
    if isinstance(plain, Mapping):
        return {camel_case(str(key)): _to_plain(each) for key, each in plain.items()}
    return [_to_plain(each) for each in plain] if isinstance(plain, list | tuple) else plain


def _to_text(value: Any) -> str:
    if value is None:
        return NOTHING
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def describe_configuration(configuration: Configuration) -> dict[tuple[str, str], str]:
    """Everything in effect as text, by (schedulerName, what); "" stands for all profiles."""
    described: dict[tuple[str, str], str] = {}
    for field in fields(Configuration):
        if field.name not in _NOT_SETTINGS:
            name = camel_case(field.name)
            described["", name] = _to_text(getattr(configuration, field.name))
    for number, extender in enumerate(_to_plain(configuration.extenders)):
        described["", f"extenders[{number}]"] = _to_text(hide_value(extender))
    for profile in configuration.profiles:
        for what, value in _describe_profile(profile):
            described[profile.scheduler_name, what] = _to_text(value)
    return described


def _describe_profile(profile: Profile) -> Iterator[tuple[str, Any]]:
    yield "percentageOfNodesToScore", profile.percentage_of_nodes_to_score
    for point in EXTENSION_POINTS:
        names = profile.plugins.get(point, ())
        yield point, ", ".join(sorted(names) if point in _UNORDERED else names) or None
    for name in sorted(profile.score_weights):
        yield f"weight of {name}", profile.score_weights[name]
    for plugin, args in sorted(profile.args.items()):
        for path, value in _flatten(_to_plain(args)):
            yield f"arguments of {plugin}: {path}", value


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of each value in a mapping that is not a mapping itself."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flatten(inner, f"{path}.{key}".lstrip("."))
    elif path:
        yield path, value

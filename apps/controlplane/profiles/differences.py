"""What two configurations make the scheduler do differently: plugins, weights, arguments, settings.

Both are compared as they are in effect, so that a default that is written out is no difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import msgspec

from apps.cluster.differences import differences
from apps.scheduler.config import EXTENSION_POINTS, Configuration, Profile

NOTHING = "–"
#: Told for themselves, or not acted upon.
_NOT_SETTINGS = frozenset({"profiles", "extenders", "leader_election", "client_connection"})
#: Where the order of plugins makes no difference: scores are added up.
_UNORDERED = frozenset({"preScore", "score"})


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs, what it was and what it is."""

    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ProfileDifferences:
    """What differs in one profile; the settings of the whole configuration have no name."""

    scheduler_name: str
    #: "added", "removed" or "changed"
    fate: str
    differences: Sequence[Difference]


def configuration_differences(
    before: Configuration, after: Configuration
) -> list[ProfileDifferences]:
    """Settings of the whole first, then each profile that differs."""
    found = []
    if settings := list(_settings(before, after)):
        found.append(ProfileDifferences("", "changed", settings))
    old = {profile.scheduler_name: profile for profile in before.profiles}
    new = {profile.scheduler_name: profile for profile in after.profiles}
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in new:
            found.append(ProfileDifferences(name, "removed", ()))
        elif name not in old:
            found.append(ProfileDifferences(name, "added", ()))
        elif changed := list(_profile(old[name], new[name])):
            found.append(ProfileDifferences(name, "changed", changed))
    return found


def _settings(before: Configuration, after: Configuration) -> Iterator[Difference]:
    for field in fields(Configuration):
        if field.name not in _NOT_SETTINGS:
            yield from _compared(
                _written(field.name), getattr(before, field.name), getattr(after, field.name)
            )
    old, new = _plain(before.extenders), _plain(after.extenders)
    for each in differences(old, new):
        yield Difference(f"extenders{each.path}", _text(each.before), _text(each.after))


def _profile(before: Profile, after: Profile) -> Iterator[Difference]:
    yield from _compared(
        "percentageOfNodesToScore",
        before.percentage_of_nodes_to_score,
        after.percentage_of_nodes_to_score,
    )
    for point in EXTENSION_POINTS:
        yield from _point(point, before.plugins.get(point, ()), after.plugins.get(point, ()))
    for name in sorted({*before.score_weights, *after.score_weights}):
        old, new = before.score_weights.get(name), after.score_weights.get(name)
        yield from _compared(f"weight of {name}", old, new)
    for each in differences(_plain(before.args), _plain(after.args)):
        yield Difference(f"arguments: {each.path}", _text(each.before), _text(each.after))


def _point(point: str, before: Sequence[str], after: Sequence[str]) -> Iterator[Difference]:
    """Plugins that came and went at one extension point, or their new order."""
    for name in before:
        if name not in after:
            yield Difference(f"{point}: {name}", "enabled", "disabled")
    for name in after:
        if name not in before:
            yield Difference(f"{point}: {name}", "disabled", "enabled")
    same = set(before) == set(after)
    if same and tuple(before) != tuple(after) and point not in _UNORDERED:
        yield Difference(f"{point}: order", ", ".join(before), ", ".join(after))


def _compared(name: str, before: Any, after: Any) -> Iterator[Difference]:
    if before != after:
        yield Difference(name, _text(before), _text(after))


def _plain(value: Any) -> Any:
    """Plain data, its keys as the configuration writes them."""
    plain = value if isinstance(value, Mapping | list) else msgspec.to_builtins(value, enc_hook=str)
    if isinstance(plain, Mapping):
        return {_written(str(key)): _plain(each) for key, each in plain.items()}
    return [_plain(each) for each in plain] if isinstance(plain, list | tuple) else plain


def _written(name: str) -> str:
    """`scoring_strategy` as `scoringStrategy`."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _text(value: Any) -> str:
    if value is None:
        return NOTHING
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()

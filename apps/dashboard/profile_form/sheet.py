"""The whole form for the text of a configuration, with each problem at its field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from apps.dashboard.profile_form.fields import Entry, Group, GroupList, Part, parts_of, to_text
from apps.dashboard.profile_form.schema import build_parts
from apps.engine.profiles.editing.document import ConfigurationText
from apps.engine.profiles.editing.plugin_sets import MULTI_POINT, ProfilePlugins, read_plugins
from apps.scheduler.config import EXTENSION_POINTS, Cause
from apps.scheduler.config.plugin_table import KnownPlugin, PluginTable
from apps.scheduler.config.types import Plugins, WrittenConfiguration, WrittenProfile
from apps.scheduler.features import GATES
from apps.scheduler.features.effects import EFFECTS, effect_of, listed_gates

_SETTINGS: Final = (
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "parallelism",
)
_PROFILE: Final = ("schedulerName", "percentageOfNodesToScore")
_UNORDERED: Final = ("preScore", "score")
_LAST_STEP: Final = re.compile(r"(\.[^.\[\]]+|\[[^\]]*\]|[^.\[\]]+)$")
_PLUGIN_CONFIG: Final = re.compile(r"^(profiles\[\d+\]\.pluginConfig)\[(\d+)\]")
_PLUGIN_ENTRY: Final = re.compile(r"^profiles\[\d+\]\.plugins\.\w+\.(enabled|disabled)\[\d+\]")


@dataclass(slots=True)
class Switch:
    """A plugin at an extension point, or at all of them (`multiPoint`)."""

    profile: int
    point: str
    plugin: str
    on: bool

    @property
    def name(self) -> str:
        return f"on:{self.profile}:{self.point}:{self.plugin}"


@dataclass(slots=True)
class PluginRow:
    """A plugin in the table of a profile; a point that it does not implement is None."""

    name: str
    everywhere: Switch
    points: Sequence[Switch | None]
    #: None: it does not score
    weight: Entry | None
    #: whether the profile deviates from the default one
    changed: bool
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class PointOrder:
    """The plugins at an extension point in calling order."""

    point: str
    plugins: Sequence[str]
    #: the order has no effect on results: scores are summed
    unordered: bool


@dataclass(slots=True)
class ProfileSheet:
    """The fields of one profile."""

    index: int
    title: str
    parts: list[Part]
    plugins: list[PluginRow]
    orders: list[PointOrder]
    arguments: list[Group]
    removable: bool
    problems: list[str] = field(default_factory=list)

    @property
    def path(self) -> str:
        return f"profiles[{self.index}]"


@dataclass(slots=True)
class Sheet:
    """The form for one text."""

    text: str
    settings: list[Part]
    gates: Group
    profiles: list[ProfileSheet]
    extenders: GroupList
    #: problems without a field in the form
    problems: list[str] = field(default_factory=list)
    extension_points: Sequence[str] = EXTENSION_POINTS

    def parts(self) -> Iterator[Part]:
        """All parts, except the table of plugins."""
        for profile in self.profiles:
            for part in (*profile.parts, *profile.arguments):
                yield from parts_of(part)
        for part in (*self.settings, self.gates, self.extenders):
            yield from parts_of(part)

    def entries(self) -> Iterator[Entry]:
        """All inputs, except weights and switches of plugins."""
        for part in self.parts():
            if isinstance(part, Entry):
                yield part


def build_sheet(text: str, known: PluginTable, causes: Iterable[Cause] = ()) -> Sheet:
    """The form for a text, with these problems.

    Raises ConfigError if the text is no YAML mapping.
    """
    document = ConfigurationText(text)
    body = document.body.get("profiles")
    count = max(len(body), 1) if isinstance(body, list) else 1
    (extenders,) = build_parts(
        WrittenConfiguration, WrittenConfiguration(), "", document, only=("extenders",)
    )
    assert isinstance(extenders, GroupList)
    sheet = Sheet(
        text,
        build_parts(WrittenConfiguration, WrittenConfiguration(), "", document, only=_SETTINGS),
        _build_gates(document),
        [_build_profile(document, index, known, removable=count > 1) for index in range(count)],
        extenders,
    )
    _assign_problems(sheet, document, causes)
    return sheet


def _build_gates(document: ConfigurationText) -> Group:
    """The gates that can be set and change something here, and others that the text sets."""
    written = document.get("featureGates")
    given = written if isinstance(written, dict) else {}
    shown = [gate for gate in listed_gates() if gate.name in EFFECTS and not gate.locked]
    shown += [GATES[name] for name in given if name in GATES and name not in EFFECTS]
    return Group(
        path="featureGates",
        label="featureGates",
        help="kube-scheduler's flag --feature-gates. Other gates can be set in the YAML.",
        parts=[
            Entry(
                path=f"featureGates.{gate.name}",
                label=gate.name,
                kind="switch",
                value=to_text(document.get(f"featureGates.{gate.name}")),
                default=to_text(gate.default),
                help=effect_of(gate),
            )
            for gate in shown
        ],
    )


def _build_profile(
    document: ConfigurationText, index: int, known: PluginTable, *, removable: bool
) -> ProfileSheet:
    path = f"profiles[{index}]"
    plugins = read_plugins(document, index, known)
    title = document.get(f"{path}.schedulerName") or "default-scheduler"
    parts = build_parts(WrittenProfile, WrittenProfile(), path, document, only=_PROFILE)
    for part in parts:
        if isinstance(part, Entry) and part.label == "schedulerName" and not removable:
            part.default = "default-scheduler"
    default = ProfilePlugins(Plugins(), known)
    return ProfileSheet(
        index,
        str(title),
        parts,
        [_build_row(index, plugin, plugins, default) for plugin in known.values()],
        [
            PointOrder(point, plugins.at(point), point in _UNORDERED)
            for point in EXTENSION_POINTS
            if len(plugins.at(point)) > 1
        ],
        [
            _build_arguments(document, path, plugin)
            for plugin in known.values()
            if plugin.args_type is not None
        ],
        removable,
    )


def _build_row(
    profile: int, plugin: KnownPlugin, plugins: ProfilePlugins, default: ProfilePlugins
) -> PluginRow:
    name = plugin.name
    points = [
        Switch(profile, point, name, name in plugins.at(point))
        if point in plugin.extension_points
        else None
        for point in EXTENSION_POINTS
    ]
    weight = None
    if "score" in plugin.extension_points:
        written = plugins.written_weight(name)
        weight = Entry(
            path=f"profiles[{profile}].weights.{name}",
            label=f"Weight of {name}",
            kind="number",
            value="" if written is None else str(written),
            default=str(plugins.weight_of(name) or plugin.default_weight or 1),
        )
    changed = plugins.weight_of(name) != default.weight_of(name) or any(
        (name in plugins.at(point)) != (name in default.at(point)) for point in EXTENSION_POINTS
    )
    everywhere = Switch(profile, MULTI_POINT, name, name in plugins.multi_point)
    return PluginRow(name, everywhere, points, weight, changed)


def _build_arguments(document: ConfigurationText, profile: str, plugin: KnownPlugin) -> Group:
    """The arguments of a plugin, addressed by its name whether it has an entry or not."""
    path = f"{profile}.pluginConfig[{plugin.name}].args"
    assert plugin.args_type is not None
    return Group(
        path=path,
        label=plugin.name,
        parts=build_parts(plugin.args_type, plugin.args_type(), path, document),
    )


def _assign_problems(sheet: Sheet, document: ConfigurationText, causes: Iterable[Cause]) -> None:
    """Add each problem to the part with the longest matching path."""
    targets: dict[str, list[str]] = {"": sheet.problems}
    for profile in sheet.profiles:
        targets[profile.path] = profile.problems
        for row in profile.plugins:
            targets[f"{profile.path}/{row.name}"] = row.problems
    targets |= {part.path: part.problems for part in sheet.parts()}
    for cause in causes:
        path = _by_name(document, cause.field)
        start = path
        if "/" in start and start not in targets:
            # a plugin without a row: one that does not exist
            path, start = cause.field, cause.field
        while start not in targets:
            start = _LAST_STEP.sub("", start)
        rest = path[len(start) :].lstrip(".")
        said = f"{rest}: {cause.message}" if rest else cause.message
        if said not in targets[start]:
            targets[start].append(said)


def _by_name(document: ConfigurationText, path: str) -> str:
    """A path with the plugin's name for the index of its entry."""
    if match := _PLUGIN_CONFIG.match(path):
        name = document.get(f"{match[0]}.name")
        return f"{match[1]}[{name}]{path[match.end() :]}"
    if match := _PLUGIN_ENTRY.match(path):
        name = document.get(f"{match[0]}.name")
        return f"{path.split('.')[0]}/{name}"
    return path

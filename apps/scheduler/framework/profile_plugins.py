"""The plugins of one profile: built once, and listed for each extension point in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apps.scheduler.config.types import Profile
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import (
    EXTENSION_POINTS,
    BindPlugin,
    FilterPlugin,
    NormalizeScorePlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
    implements,
)
from apps.scheduler.framework.plugin_scores import Scorer

#: builds a plugin from its typed arguments (None if it takes none) and the handle
PluginFactory = Callable[[Any, Handle], Plugin]


class PluginError(Exception):
    """A plugin cannot be built, or lacks the methods of an extension point."""


class ProfilePlugins:
    """The plugins that a profile enables, by name and by extension point.

    Raises KeyError for a plugin that the registry does not know, PluginError for one that fails to
    be built or lacks the methods of an extension point at which the profile enables it.
    """

    def __init__(
        self, profile: Profile, registry: Mapping[str, PluginFactory], handle: Handle
    ) -> None:
        self._profile = profile
        self.by_name: dict[str, Plugin] = {
            name: _build(name, registry[name], profile.args.get(name), handle)
            for name in profile.plugin_names
        }
        self.pre_enqueue: list[PreEnqueuePlugin] = self._at("preEnqueue")
        self.queue_sort: list[QueueSortPlugin] = self._at("queueSort")
        self.pre_filter: list[PreFilterPlugin] = self._at("preFilter")
        self.filter: list[FilterPlugin] = self._at("filter")
        self.post_filter: list[PostFilterPlugin] = self._at("postFilter")
        self.pre_score: list[PreScorePlugin] = self._at("preScore")
        self.score: list[Scorer] = [self._scorer(plugin) for plugin in self._at("score")]
        self.reserve: list[ReservePlugin] = self._at("reserve")
        self.permit: list[PermitPlugin] = self._at("permit")
        self.pre_bind: list[PreBindPlugin] = self._at("preBind")
        self.bind: list[BindPlugin] = self._at("bind")
        self.post_bind: list[PostBindPlugin] = self._at("postBind")

    def _at(self, point: str) -> list[Any]:
        protocol = EXTENSION_POINTS[point]
        plugins = [self.by_name[name] for name in self._profile.plugins.get(point, ())]
        for plugin in plugins:
            if not implements(plugin, protocol):
                raise PluginError(f"plugin {plugin.name} does not implement {point}")
        return plugins

    def _scorer(self, plugin: ScorePlugin) -> Scorer:
        normalizer: Any = plugin if implements(plugin, NormalizeScorePlugin) else None
        return Scorer(plugin.name, plugin, normalizer, self._profile.score_weights[plugin.name])


def _build(name: str, factory: PluginFactory, args: Any, handle: Handle) -> Plugin:
    try:
        return factory(args, handle)
    except Exception as raised:
        raise PluginError(f'initializing plugin "{name}": {raised}') from raised

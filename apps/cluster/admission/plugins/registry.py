"""All selectable plugins in the order in which they run, and chains of the enabled ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.admission.draft import Body
from apps.cluster.admission.plugins.anti_affinity import LIMIT_POD_HARD_ANTI_AFFINITY_TOPOLOGY
from apps.cluster.admission.plugins.dedicated_nodes import DEDICATED_NODES
from apps.cluster.admission.plugins.node_restriction import NODE_RESTRICTION
from apps.cluster.admission.plugins.plugin import AdmissionPlugin, Attributes
from apps.cluster.admission.plugins.tolerations import (
    EXTENDED_RESOURCE_TOLERATION,
    POD_TOLERATION_RESTRICTION,
)
from apps.cluster.lookups import Lookups
from apps.cluster.validation.causes import Causes, invalid, not_supported

PLUGINS: Final[tuple[AdmissionPlugin, ...]] = (
    LIMIT_POD_HARD_ANTI_AFFINITY_TOPOLOGY,
    NODE_RESTRICTION,
    POD_TOLERATION_RESTRICTION,
    EXTENDED_RESOURCE_TOLERATION,
    DEDICATED_NODES,
)
_BY_NAME: Final = {plugin.name: plugin for plugin in PLUGINS}
NAMES: Final = tuple(_BY_NAME)

Chosen = Mapping[str, Any]


def check_plugins(chosen: Any, path: str = "admission_plugins") -> Causes:
    """The problems of a selection of plugins: a mapping of their names to their parameters."""
    if not isinstance(chosen, Mapping):
        yield invalid(path, chosen, "must map names of plugins to their parameters")
        return
    for name, parameters in chosen.items():
        plugin = _BY_NAME.get(name)
        if plugin is None:
            yield not_supported(f"{path}.{name}", name, NAMES)
        elif not isinstance(parameters, Mapping):
            yield invalid(f"{path}.{name}", parameters, "must be an object")
        else:
            yield from plugin.check(parameters, f"{path}.{name}")


class EnabledPlugins:
    """The enabled plugins of a cluster, for the requests of one user."""

    def __init__(self, chosen: Chosen, user: str = "") -> None:
        self._user = user
        self._chosen = [(each, chosen[each.name]) for each in PLUGINS if each.name in chosen]

    def admit(
        self, kind: str, draft: Body, lookups: Lookups, old: Mapping[str, Any] | None = None
    ) -> None:
        """Let each plugin change the object; Forbidden if one rejects it."""
        for plugin, parameters in self._chosen:
            if plugin.admit is not None and plugin.kind == kind:
                plugin.admit(draft, Attributes(self._user, lookups, old), parameters)

    def validate(
        self, kind: str, body: Body, lookups: Lookups, old: Mapping[str, Any] | None = None
    ) -> None:
        """Let each plugin reject an otherwise valid object."""
        for plugin, parameters in self._chosen:
            if plugin.validate is not None and plugin.kind == kind:
                plugin.validate(body, Attributes(self._user, lookups, old), parameters)


NO_PLUGINS: Final = EnabledPlugins({})

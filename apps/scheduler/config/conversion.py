"""What a converter of configurations of earlier releases takes and returns.

The converter itself comes with a package of plugins (`framework.declaration.PluginPackage`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from apps.scheduler.config.plugin_table import PluginTable


@dataclass(frozen=True, slots=True)
class Conversion:
    """An older configuration as one of the present version."""

    #: a KubeSchedulerConfiguration v1 as YAML
    configuration: str
    #: load and store it with `legacy`: it may name plugins of earlier releases
    legacy: bool
    #: what differs, or could not be translated
    notes: tuple[str, ...]


class Converter(Protocol):
    """Converts a configuration of an earlier version, or a Policy, for this scheduler.

    `policy` is the Policy that a configuration refers to; `feature_gates` are those of the old
    scheduler, in addition to those of the text. `plugins` is as for `load`. Raises ConfigError if
    the text cannot be read, is of an unknown version, or contains values that no scheduler
    accepted.
    """

    def __call__(
        self,
        source: str | bytes | Mapping[str, Any],
        plugins: PluginTable,
        *,
        policy: str | bytes | Mapping[str, Any] | None = None,
        feature_gates: Mapping[str, bool] | None = None,
    ) -> Conversion: ...

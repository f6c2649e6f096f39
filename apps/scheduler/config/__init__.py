"""KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) as kube-scheduler 1.36 reads it.

`load` decodes strictly, defaults, validates and expands the profiles. It receives the plugins that
exist as a table (`config.plugin_table`) and imports none of them; each plugin declares the type,
the defaults and the rules of its arguments. Configurations of earlier releases are converted
by what `config.conversion` describes. Plugins and the apps above the scheduler import this package.
"""

from __future__ import annotations

from apps.scheduler.config.errors import Cause, ConfigError
from apps.scheduler.config.loading import default_configuration, find_faults, load
from apps.scheduler.config.plugin_table import PluginTable
from apps.scheduler.config.types import (
    API_VERSION,
    EXTENSION_POINTS,
    KIND,
    Configuration,
    Extender,
    Profile,
)

__all__ = [
    "API_VERSION",
    "EXTENSION_POINTS",
    "KIND",
    "Cause",
    "ConfigError",
    "Configuration",
    "Extender",
    "PluginTable",
    "Profile",
    "default_configuration",
    "find_faults",
    "load",
]

"""Compare how configurations are read, refused and expanded with kube-scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.scheduler.config import ConfigError, default_configuration, load
from apps.scheduler.plugins.registry import TABLE

Json = Mapping[str, Any]


def check_config_case(case: Json, expect: Json) -> list[str]:
    """Every difference, as human-readable lines.

    Texts of refusals are not compared: the recorded ones come from Go's decoder. The enabled
    plugins are compared if they were recorded.
    """
    recorded = expect.get("configError")
    try:
        given = case.get("config")
        configuration = default_configuration(TABLE) if given is None else load(given, TABLE)
    except ConfigError as error:
        return [] if recorded else [f"{case['id']}: the configuration is refused: {error}"]
    if recorded:
        return [f"{case['id']}: the configuration is accepted, recorded {recorded!r}"]
    computed = {p.scheduler_name: p.extension_points() for p in configuration.profiles}
    return [
        f"{case['id']} profile {name} {point}: plugins are {computed.get(name, {}).get(point)}, "
        f"recorded {wanted}"
        for name, points in (expect.get("profiles") or {}).items()
        for point, wanted in points.items()
        if computed.get(name, {}).get(point) != wanted
    ]

"""What is allowed in a configuration, and probably not what its author wants."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final

from apps.scheduler.config.decoding import camel_case
from apps.scheduler.config.resource_args import ResourceSpec
from apps.scheduler.config.types import Configuration
from apps.scheduler.features.gates import find_warnings as find_gate_warnings

_RESOURCES: Final = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})


def find_warnings(configuration: Configuration) -> list[str]:
    """Sentences about a valid configuration; empty if there is nothing to say."""
    sentences = find_gate_warnings(configuration.feature_gates)
    for profile in configuration.profiles:
        for plugin, args in profile.args.items():
            for path, name in _misspelled(args, ""):
                sentences.append(
                    f"{profile.scheduler_name}: pluginConfig {plugin}, {path}: no node has a "
                    f'resource "{name}", so it does not count. Names are case-sensitive: '
                    f'write "{name.lower()}".'
                )
    return sentences


def _misspelled(args: Any, path: str) -> Iterator[tuple[str, str]]:
    """The resources whose name is that of another one in the wrong case, with their paths."""
    if isinstance(args, ResourceSpec):
        if args.name not in _RESOURCES and args.name.lower() in _RESOURCES:
            yield f"{path}.name", args.name
    elif isinstance(args, tuple):
        for index, item in enumerate(args):
            yield from _misspelled(item, f"{path}[{index}]")
    elif dataclasses.is_dataclass(args):
        for field in dataclasses.fields(args):
            name = field.metadata.get("json", camel_case(field.name))
            yield from _misspelled(getattr(args, field.name), f"{path}.{name}".lstrip("."))

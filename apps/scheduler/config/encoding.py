"""A configuration in effect as a complete KubeSchedulerConfiguration v1 document."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from apps.scheduler.config.decoding import camel_case
from apps.scheduler.config.durations import go_duration
from apps.scheduler.config.fields import Seconds
from apps.scheduler.config.types import API_VERSION, KIND, Configuration, Profile

#: fields that are left out: the private key for the connection to an extender
_SECRET = frozenset({"keyData"})
#: attributes that are not fields of the document
_NOT_WRITTEN = frozenset({"legacy", "profiles"})


def encode(configuration: Configuration) -> dict[str, Any]:
    """The document; reading it gives an equal configuration, except for private keys."""
    document = {"apiVersion": API_VERSION, "kind": KIND, **_fields(configuration)}
    if not configuration.feature_gates:
        # kube-scheduler does not have the field: only its flag
        del document["featureGates"]
    document["profiles"] = [_profile(profile) for profile in configuration.profiles]
    return document


def _profile(profile: Profile) -> dict[str, Any]:
    plugins: dict[str, Any] = {"multiPoint": {"disabled": [{"name": "*"}]}}
    for point, names in profile.plugins.items():
        enabled: list[dict[str, Any]] = [{"name": name} for name in names]
        if point == "score":
            enabled = [
                {"name": name, "weight": profile.score_weights[name]}
                for name in profile.plugins[point]
            ]
        if enabled:
            plugins[point] = {"enabled": enabled}
    document: dict[str, Any] = {"schedulerName": profile.scheduler_name, "plugins": plugins}
    if profile.percentage_of_nodes_to_score is not None:
        document["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    document["pluginConfig"] = [
        {"name": name, "args": _args(name, args)} for name, args in profile.args.items()
    ]
    return document


def _args(plugin: str, args: Any) -> Any:
    """Typed arguments with their kind; arguments of a plugin without a type are kept as written."""
    if isinstance(args, Mapping):
        return args
    return {"apiVersion": API_VERSION, "kind": f"{plugin}Args", **_fields(args)}


def _fields(item: Any) -> dict[str, Any]:
    """A dataclass by the names of its fields in a document; unset fields are left out."""
    written = {}
    kind: type = type(item)
    for attribute, name, is_duration in _names(kind):
        value = getattr(item, attribute)
        if value is not None and name not in _SECRET | _NOT_WRITTEN:
            written[name] = go_duration(value) if is_duration else to_plain(value)
    return written


def to_plain(value: Any) -> Any:
    """A value of a configuration as in a document."""
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    if dataclasses.is_dataclass(value):
        return _fields(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (list, tuple)):
        return [to_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: to_plain(each) for key, each in value.items()}
    return value


@cache
def _names(kind: Hashable) -> list[tuple[str, str, bool]]:
    """(attribute, its name in a document, whether it is a duration)."""
    assert isinstance(kind, type)
    types = get_type_hints(kind, include_extras=True)
    return [
        (
            field.name,
            field.metadata.get("json") or camel_case(field.name),
            get_origin(types[field.name]) is Annotated
            and any(isinstance(mark, Seconds) for mark in get_args(types[field.name])[1:]),
        )
        for field in dataclasses.fields(kind)
    ]

"""The objects of a cluster at the start of a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import yaml

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.controllers.generating import generate_built_in_objects, generate_node
from apps.engine.profiles import plugins
from apps.scheduler.config import Configuration
from apps.scheduler.config.loading import load
from apps.studies.scenarios.language.checking import names_of
from apps.studies.scenarios.language.types import ClusterSpec, NodeGroup, ProfileSpec
from apps.studies.scenarios.memory.memory_objects import object_kind

Body = dict[str, Any]

_API_VERSION = "kubescheduler.config.k8s.io/v1"


def read_configuration(spec: ClusterSpec, profile: ProfileSpec) -> Configuration:
    """The configuration of a run; ConfigError names what is wrong."""
    given = profile.configuration or spec.configuration
    gates = {**spec.feature_gates, **profile.feature_gates}
    body: Body = {"apiVersion": _API_VERSION, "kind": "KubeSchedulerConfiguration", **given}
    if gates:
        body["featureGates"] = {**(body.get("featureGates") or {}), **gates}
    return load(yaml.safe_dump(body), plugins.known_plugins())


def first_objects(spec: ClusterSpec, now: datetime) -> Iterator[tuple[Kind, Body]]:
    """The namespaces and classes of every cluster, and the generated nodes."""
    yield from generate_built_in_objects()
    for group in spec.nodes:
        for index, name in enumerate(names_of(group.name, group.count)):
            zone = group.zone or f"zone-{index % group.zones + 1}"
            yield kinds.NODE, _node(group, name, zone, now)


def given_objects(objects: list[Body]) -> Iterator[tuple[Kind, Body]]:
    """The objects with their kinds; namespaces and classes first."""
    resolved = [(object_kind(str(b.get("apiVersion")), str(b.get("kind"))), b) for b in objects]
    first = ("Namespace", "PriorityClass", "RuntimeClass", "StorageClass", "Node")

    def rank(each: tuple[Kind, Body]) -> int:
        return first.index(each[0].name) if each[0].name in first else len(first)

    yield from sorted(resolved, key=rank)


def _node(group: NodeGroup, name: str, zone: str, now: datetime) -> Body:
    node = generate_node(
        name, zone, cpu=str(group.cpu), memory=str(group.memory), pods=str(group.pods), now=now
    )
    node["metadata"]["labels"] |= group.labels
    resources = {key: str(value) for key, value in group.resources.items()}
    for field in ("capacity", "allocatable"):
        node["status"][field] = {**node["status"][field], **resources}
    if group.taints:
        node["spec"] = {"taints": [_taint(text) for text in group.taints]}
    return node


def _taint(text: str) -> Mapping[str, str]:
    rest, _, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    return {"key": key, "effect": effect, **({"value": value} if value else {})}

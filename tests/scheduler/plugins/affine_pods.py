"""Pods with affinity terms, and nodes in two zones and in none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apps.scheduler.testing.builders import PodBuilder, make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NODES = (
    make_node("a1").hostname().zone("a"),
    make_node("a2").hostname().zone("a"),
    make_node("b1").hostname().zone("b"),
    make_node("plain"),
)


def term(app: str, key: str = ZONE, **fields: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **fields}


def pod(name: str = "pod", app: str = "", namespace: str = "default") -> PodBuilder:
    return make_pod(name, namespace).labels({"app": app} if app else {})


def wants(
    builder: PodBuilder,
    *,
    near: Sequence[dict[str, Any]] = (),
    away: Sequence[dict[str, Any]] = (),
    likes: Sequence[tuple[int, dict[str, Any]]] = (),
    dislikes: Sequence[tuple[int, dict[str, Any]]] = (),
) -> PodBuilder:
    def weighted(terms: Sequence[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
        return [{"weight": weight, "podAffinityTerm": each} for weight, each in terms]

    affinity = {
        "podAffinity": {REQUIRED: list(near), PREFERRED: weighted(likes)},
        "podAntiAffinity": {REQUIRED: list(away), PREFERRED: weighted(dislikes)},
    }
    return builder.spec(affinity=affinity)

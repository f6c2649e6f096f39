"""How many nodes are needed: the least number of one shape, and the cheapest mix found of several.

Method, which every answer states: for each shape alone, the least number of nodes with which all
pods have a node, by bisection; each of these solutions is then improved by exchanging nodes for
nodes of another shape that cost less, as long as all pods have a node. Each step is a simulation.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any, ClassVar, Final

import msgspec

from apps.cluster import limits
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.scheduler.objects import Node
from apps.studies.lab.base import Base, LabAnswer
from apps.studies.lab.manifests import read_manifests
from apps.studies.lab.simulated_changes import Changed, apply_changes, put_node
from apps.studies.lab.simulation import (
    Simulation,
    SimulationRequest,
    pending_arrivals,
    read_base_and_changes,
    run_simulation,
)

METHOD: Final = (
    "Each shape alone by bisection over the number of nodes; then nodes are exchanged for nodes of "
    "another shape that cost less, as long as all pods have a node. The mix is the cheapest one "
    "found, which need not be the cheapest one possible."
)
#: Nodes of a plan by default; exchanges that are tried.
DEFAULT_NODES: Final = 100
_MAX_EXCHANGES: Final = 60
_MOST_FOR_ONE: Final = 3

Counts = dict[str, int]


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of node that can be added."""

    name: str
    #: a Node manifest; its name is not used
    node: Mapping[str, Any]
    price: float = 1.0


@dataclass(frozen=True, slots=True)
class ShapeAnswer:
    """One shape alone."""

    shape: str
    price: float
    #: with this shape alone; None: `max_nodes` are not enough
    nodes: int | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class Plan(LabAnswer):
    """The nodes to add."""

    shapes: Sequence[ShapeAnswer]
    #: shape -> nodes to add; None: no number of nodes is enough
    mix: Mapping[str, int] | None
    #: of the mix
    cost: float
    #: pods that have a node with the mix
    placed: int
    #: pods that have no node with any number of nodes -> the scheduler's message
    impossible: Mapping[str, str] = field(default_factory=dict)
    method: str = METHOD

    ANSWER: ClassVar = ("state", "shapes", "mix", "cost", "method", "placed", "impossible")

    @property
    def obstacles(self) -> Mapping[str, Sequence[str]]:
        """Message -> the pods that have no node for this reason."""
        obstacles = defaultdict[str, list[str]](list)
        for pod, message in self.impossible.items():
            obstacles[message].append(pod)
        return dict(obstacles)


def plan_nodes(
    cluster: Cluster,
    request: SimulationRequest,
    shapes: Sequence[Shape],
    *,
    most: int = DEFAULT_NODES,
    user: str = "",
) -> Plan:
    """The nodes with which the request's pods have a node; BadRequest names a wrong field.

    Pods that fit no shape do not count; they are listed as `impossible`.
    """
    _check(shapes, most)
    base, changes = read_base_and_changes(cluster, request, user=user)
    changed = apply_changes(base, changes)
    search = _Search(base, changed, request, _read_shapes(cluster, shapes), most)
    alone = [search.find_alone(shape) for shape in shapes]
    sufficient = [each for each in alone if each.nodes is not None]
    best: Counts | None = None
    if sufficient:
        improved = [search.exchange({each.shape: each.nodes or 0}, shapes) for each in sufficient]
        best = min(
            improved, key=lambda counts: (search.cost_of(counts, shapes), sum(counts.values()))
        )
    final = search.simulate(best or {})
    return Plan(
        base,
        alone,
        best,
        search.cost_of(best or {}, shapes),
        len(final.placed),
        {pod.key: pod.message for pod in final.not_placed},
    )


class _Search:
    """Simulations with different numbers of nodes."""

    def __init__(
        self,
        base: Base,
        changed: Changed,
        request: SimulationRequest,
        nodes: Mapping[str, Node],
        most: int,
    ) -> None:
        self._base = base
        self._changed = changed
        self._request = request
        self._nodes = nodes
        self._most = most
        self._known: dict[tuple[tuple[str, int], ...], int] = {}
        #: pods without a node, however many nodes of every shape there are
        self._least = self.unplaced(dict.fromkeys(nodes, most))

    def simulate(self, counts: Mapping[str, int]) -> Simulation:
        base = copy.copy(self._base)
        base.nodes, base.tree = dict(base.nodes), copy.deepcopy(base.tree)
        for name, count in counts.items():
            for number in range(count):
                put_node(base, _named(self._nodes[name], _free_name(base, name, number)))
        waiting = list(pending_arrivals(base)) if self._request.pending else []
        return run_simulation(base, self._changed, waiting, seed=self._request.seed)

    def unplaced(self, counts: Mapping[str, int]) -> int:
        key = tuple(sorted((name, count) for name, count in counts.items() if count))
        if key not in self._known:
            self._known[key] = len(self.simulate(counts).not_placed)
        return self._known[key]

    def suffices(self, counts: Mapping[str, int]) -> bool:
        return self.unplaced(counts) <= self._least

    def find_alone(self, shape: Shape) -> ShapeAnswer:
        """The least number of nodes of one shape, by bisection."""
        if not self.suffices({shape.name: self._most}):
            return ShapeAnswer(shape.name, shape.price, None, None)
        low, high = -1, 1
        while high < self._most and not self.suffices({shape.name: high}):
            low, high = high, min(high * 2, self._most)
        while high - low > 1:
            middle = (low + high) // 2
            if self.suffices({shape.name: middle}):
                high = middle
            else:
                low = middle
        return ShapeAnswer(shape.name, shape.price, high, high * shape.price)

    def exchange(self, counts: Counts, shapes: Sequence[Shape]) -> Counts:
        """Exchange nodes for others that cost less as long as these suffice."""
        prices = {shape.name: shape.price for shape in shapes}
        tried = 0
        while tried < _MAX_EXCHANGES:
            for candidate in _cheaper(counts, prices):
                tried += 1
                if self.suffices(candidate):
                    counts = candidate
                    break
                if tried >= _MAX_EXCHANGES:
                    break
            else:
                break
        return {name: count for name, count in counts.items() if count}

    @staticmethod
    def cost_of(counts: Mapping[str, int], shapes: Sequence[Shape]) -> float:
        prices = {shape.name: shape.price for shape in shapes}
        return sum(prices[name] * count for name, count in counts.items())


def _cheaper(counts: Counts, prices: Mapping[str, float]) -> list[Counts]:
    """The exchanges of nodes that cost less, the cheapest result first."""
    cheaper = []
    for name in (name for name, count in counts.items() if count):
        cheaper.append({**counts, name: counts[name] - 1})
        for other in prices:
            for given, taken in _exchanges(prices[name], prices[other]):
                if other != name and given <= counts[name]:
                    less = {**counts, name: counts[name] - given}
                    cheaper.append({**less, other: less.get(other, 0) + taken})
    return sorted(cheaper, key=lambda each: sum(prices[n] * c for n, c in each.items()))


def _exchanges(price: float, other: float) -> Iterator[tuple[int, int]]:
    """(n, m): m nodes of the other price cost less than n of this price; n or m is 1."""
    if 0 < other < price:
        most = ceil(price / other) - 1
        yield from ((1, taken) for taken in range(1, min(most, _MOST_FOR_ONE) + 1))
    elif 0 < price <= other:
        yield floor(other / price) + 1, 1


def _read_shapes(cluster: Cluster, shapes: Sequence[Shape]) -> dict[str, Node]:
    """The nodes of the shapes, as the API would store them."""
    nodes = {}
    for index, shape in enumerate(shapes):
        metadata = {**(shape.node.get("metadata") or {}), "name": shape.name}
        body = {**shape.node, "apiVersion": "v1", "kind": "Node", "metadata": metadata}
        try:
            (nodes[shape.name],) = read_manifests(cluster, [body], nodes={}).nodes
        except BadRequest as error:
            problem = BadRequest(f"shapes[{index}].node: {error.message}")
            raise problem from (error.__cause__ or error)
    return nodes


def _named(node: Node, name: str) -> Node:
    labels = {**node.metadata.labels, "kubernetes.io/hostname": name}
    metadata = msgspec.structs.replace(node.metadata, name=name, uid=name, labels=labels)
    return msgspec.structs.replace(node, metadata=metadata)


def _free_name(base: Base, name: str, number: int) -> str:
    """A name that no node has."""
    unused = f"{name}-{number}"
    while unused in base.nodes:
        unused += "-new"
    return unused


def _check(shapes: Sequence[Shape], most: int) -> None:
    if not limits.PLANNED_SHAPES.admits(len(shapes)):
        most_shapes = limits.PLANNED_SHAPES.highest
        raise BadRequest(f"shapes: must have 1 to {most_shapes} shapes, not {len(shapes)}")
    if not limits.PLANNED_NODES.admits(most):
        raise BadRequest(f"max_nodes: must be {limits.PLANNED_NODES}")
    names = [shape.name for shape in shapes]
    for index, shape in enumerate(shapes):
        if names.index(shape.name) != index:
            raise BadRequest(f"shapes[{index}].name: {shape.name!r} occurs twice")
        if shape.price < 0:
            raise BadRequest(f"shapes[{index}].price: must not be negative")

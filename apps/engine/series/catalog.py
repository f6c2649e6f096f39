"""The charts of each scope: what they show, in which unit, from which figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from apps.engine.series.buckets import Part

#: What a chart is about. A node's figures come from the columns of all nodes.
Scope = Literal["cluster", "namespace", "profile", "node"]
SCOPES: tuple[Scope, ...] = ("cluster", "namespace", "profile", "node")
#: Of an axis: a number of pods or nodes; per second or minute; seconds; a share from 0 to 1;
#: milli-CPU or bytes.
Unit = Literal[
    "pods", "nodes", "per second", "per minute", "seconds", "share", "cpu", "memory", "yes or no"
]
#: A level; a count over time; a quantile of a histogram.
Source = Literal["level", "count", "quantile"]

_STATES = {
    "bound": "bound",
    "active": "activeQ",
    "backoff": "backoffQ",
    "unschedulable": "unschedulable",
    "gated": "gated",
    "others": "other schedulers",
    "succeeded": "succeeded",
    "failed": "failed",
}
_QUEUES = ("active", "backoff", "unschedulable", "gated")
_BOUNDARY = {"lowest": "least used node", "mean": "mean of nodes", "highest": "most used node"}
#: Lines of the chart of plugins: those with the highest total time.
_PLUGINS = 8


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart."""

    label: str
    source: Source
    #: the name in the part of the bucket
    key: str
    #: of a quantile, from 0 to 1
    share: float = 0.0
    #: the area between the two lines of a chart that have this is filled
    edge: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: its lines share one axis."""

    id: str
    title: str
    unit: Unit
    help: str
    lines: tuple[Line, ...]


_QUEUE = Chart(
    "queue",
    "Queue depth",
    "pods",
    "The most pods in each part of the scheduling queue within each step.",
    tuple(Line(_STATES[name], "level", f"queue.{name}") for name in _QUEUES),
)
_RESULTS = (
    Chart(
        "attempts",
        "Attempts by result",
        "per minute",
        "Attempts to schedule a pod. A pod that waits is attempted again and again.",
        tuple(
            Line(result, "count", f"attempts.{result}")
            for result in ("scheduled", "unschedulable", "error")
        ),
    ),
    Chart(
        "preemptions",
        "Preemptions",
        "per minute",
        "Attempts that selected pods for eviction, and the selected pods.",
        (Line("preemptions", "count", "preemptions"), Line("victims", "count", "victims")),
    ),
)
_ROOM = (
    Chart(
        "fragmentation",
        "Fragmentation",
        "share",
        "Of the average pods that would fit if all free resources were on one node: those that do "
        "not fit, because the resources are spread over the nodes.",
        (Line("fragmentation", "level", "fragmentation"),),
    ),
    Chart(
        "room",
        "Room for pods",
        "pods",
        "How many more pods with the average requests fit on ready, uncordoned nodes.",
        (Line("average pods", "level", "room"),),
    ),
    Chart(
        "nodes",
        "Nodes",
        "nodes",
        "Nodes by state.",
        tuple(
            Line(label, "level", f"nodes.{name}")
            for name, label in (
                ("ready", "ready"),
                ("cordoned", "cordoned"),
                ("not-ready", "not ready"),
            )
        ),
    ),
)


def list_charts(scope: Scope, parts: Iterable[Part]) -> Iterator[Chart]:
    """The charts of a scope; resources and plugins are those that occur in `parts`."""
    keys: set[str] = set()
    seconds: dict[str, float] = {}
    for part in parts:
        keys.update(part.levels)
        for name, amount in part.counts.items():
            if name.startswith("seconds/"):
                plugin = name.removeprefix("seconds/")
                seconds[plugin] = seconds.get(plugin, 0.0) + amount
    if scope == "node":
        yield from _node_charts(keys)
        return
    yield _pods(scope, keys)
    yield _rates(scope)
    yield _QUEUE
    yield _quantiles(
        "waiting", "Waiting time", "wait", "From the creation of a pod until it is scheduled."
    )
    yield from _RESULTS
    if scope == "cluster":
        yield from _node_levels(keys)
    else:
        yield _requested("cpu", "CPU requested", "cpu")
        yield _requested("memory", "Memory requested", "memory")
    if scope != "namespace":
        yield _quantiles(
            "attempt-duration",
            "Duration of attempts",
            "attempt",
            "Real time of an attempt, with the binding of a scheduled pod.",
        )
    if scope == "cluster":
        yield _plugins(seconds)


def list_resources(keys: Iterable[str], prefix: str) -> list[str]:
    """The resources with a level that starts with `prefix`: cpu, memory and pods first."""
    names = {key.removeprefix(prefix) for key in keys if key.startswith(prefix)}
    plain = {name for name in names if name.rpartition(".")[2] not in _BOUNDARY}
    first = [name for name in ("cpu", "memory", "pods") if name in plain]
    return first + sorted(plain.difference(first))


def _pods(scope: Scope, keys: set[str]) -> Chart:
    always = ("bound", *_QUEUES)
    states = [name for name in _STATES if name in always or f"pods.{name}" in keys]
    return Chart(
        "pods",
        "Pods by state",
        "pods",
        "Bound pods have a node and have not ended; the others wait in the queue.",
        tuple(Line(_STATES[name], "level", f"pods.{name}") for name in states),
    )


def _rates(scope: Scope) -> Chart:
    bound = Line("bound", "count", "attempts.scheduled")
    if scope == "profile":
        return Chart("binds", "Binds", "per second", "Pods that were scheduled.", (bound,))
    return Chart(
        "binds",
        "Arrivals and binds",
        "per second",
        "Pods that entered the scheduling queue, and pods that were scheduled.",
        (Line("arrived", "count", "arrivals"), bound),
    )


def _quantiles(name: str, title: str, key: str, text: str) -> Chart:
    lines = (
        Line("p50", "quantile", key, share=0.5),
        Line("p99", "quantile", key, share=0.99),
    )
    return Chart(name, title, "seconds", f"{text} Half of them took at most p50, 99 % p99.", lines)


def _requested(resource: str, title: str, unit: Unit) -> Chart:
    line = Line("requested", "level", f"requested.{resource}")
    return Chart(f"requested-{resource}", title, unit, "Sum over all bound pods.", (line,))


def _node_levels(keys: set[str]) -> Iterator[Chart]:
    """The cluster's charts about its nodes."""
    resources = list_resources(keys, "use.")
    for resource in resources:
        edges = tuple(
            Line(label, "level", f"use.{resource}.{name}", edge=name != "mean")
            for name, label in _BOUNDARY.items()
        )
        yield Chart(
            f"use-{resource}",
            f"Utilization: {resource}",
            "share",
            f"Requested {resource} over allocatable, of the whole cluster and of its nodes.",
            (Line("cluster", "level", f"use.{resource}"), *edges),
        )
    yield Chart(
        "imbalance",
        "Imbalance",
        "share",
        "Standard deviation of the utilization over the nodes: 0 % if all are used alike.",
        tuple(Line(name, "level", f"imbalance.{name}") for name in resources),
    )
    yield Chart(
        "stranded",
        "Stranded resources",
        "share",
        "What remains free on the nodes if they are filled with pods that request equal shares of "
        "their resources, because cpu, memory or pods run out before.",
        tuple(
            Line(name, "level", f"stranded.{name}") for name in list_resources(keys, "stranded.")
        ),
    )
    yield from _ROOM


def _plugins(seconds: dict[str, float]) -> Chart:
    slowest = sorted(seconds, key=lambda plugin: (-seconds[plugin], plugin))[:_PLUGINS]
    return Chart(
        "plugins",
        "Plugin latency",
        "seconds",
        "p99 of the real time of a plugin at an extension point, measured in one of ten attempts; "
        "Filter and Score for all nodes at once. The plugins with the highest total time.",
        tuple(
            Line(plugin.replace("/", " "), "quantile", f"plugin/{plugin}", share=0.99)
            for plugin in slowest
        ),
    )


def _node_charts(keys: set[str]) -> Iterator[Chart]:
    yield Chart(
        "use",
        "Utilization",
        "share",
        "Requested over allocatable, rounded to half a percent.",
        tuple(Line(name, "level", f"use.{name}") for name in list_resources(keys, "use.")),
    )
    yield Chart("pods", "Pods", "pods", "Bound pods.", (Line("pods", "level", "pods"),))
    yield Chart(
        "state",
        "State",
        "yes or no",
        "Whether the node was in this state at the end of each step.",
        (Line("cordoned", "level", "cordoned"), Line("not ready", "level", "not-ready")),
    )

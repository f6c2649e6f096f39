"""The state of a cluster at one moment: its pods, its queue, its nodes and their resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from apps.cluster import sql
from apps.cluster.models import Cluster
from apps.engine import queries
from apps.engine.models import QueueEntry
from apps.engine.series.buckets import CLUSTER, MAX_NAMESPACES, Bucket, Part, part_of

#: Resources of every node, in the order of the columns.
BASIC = ("cpu", "memory", "pods")
#: Further resources that are charted, by name.
MAX_OTHERS = 8

_QUEUES = tuple(QueueEntry.Queue.values)
_ENDED = ("succeeded", "failed")
_PODS = """
    SELECT p.namespace, p.scheduler_name,
        CASE WHEN p.phase IN ('Succeeded', 'Failed') THEN lower(p.phase)
            WHEN p.node_name <> '' THEN 'bound' ELSE coalesce(q.queue, 'active') END,
        count(*), sum((p.requests ->> 'cpu')::numeric)::float8,
        sum((p.requests ->> 'memory')::numeric)::float8
    FROM cluster_pod p LEFT JOIN controlplane_queueentry q
        ON p.node_name = '' AND q.cluster_id = p.cluster_id AND q.pod_uid = p.uid
    WHERE p.cluster_id = %s GROUP BY 1, 2, 3
"""
_NODES = """
    SELECT id, name, ready, unschedulable, allocatable::text FROM cluster_node WHERE cluster_id = %s
"""
#: One row for each node with live pods; `{sums}` are their requests by resource.
_REQUESTED = """
    SELECT node_name, {sums}, count(*)::float8 FROM cluster_pod
    WHERE cluster_id = %s AND node_name <> '' AND phase NOT IN ('Succeeded', 'Failed')
    GROUP BY node_name
"""


@dataclass(frozen=True, slots=True)
class NodeState:
    """All nodes of a cluster: one row for each node, one column for each resource."""

    #: (N,) int64, ascending
    ids: NDArray[np.int64]
    resources: tuple[str, ...]
    #: (N, R) float64 in milli-CPU, bytes or whole units
    requested: NDArray[np.float64]
    allocatable: NDArray[np.float64]
    #: (N,) bool
    ready: NDArray[np.bool_]
    cordoned: NDArray[np.bool_]

    @property
    def shares(self) -> NDArray[np.float64]:
        """(N, R), requested over allocatable; NaN where a node has none of a resource."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.allocatable > 0, self.requested / self.allocatable, np.nan)


def read_pods(cluster: Cluster) -> Bucket:
    """The pods of the cluster, its namespaces and its profiles, by state."""
    with connection.cursor() as cursor:
        cursor.execute(_PODS, [cluster.pk])
        rows = cursor.fetchall()
    profiles = queries.list_scheduler_names(cluster)
    bucket: Bucket = {
        CLUSTER: empty_part(),
        **{f"profile/{name}": empty_part() for name in profiles},
    }
    sizes: Counter[str] = Counter()
    for namespace, *_, count, _, _ in rows:
        sizes[namespace] += count
    charted = {name for name, _ in sizes.most_common(MAX_NAMESPACES)}
    for namespace, scheduler, state, count, cpu, memory in rows:
        queued = state in _QUEUES
        if queued and scheduler not in profiles:
            state, queued = "others", False
        names = [CLUSTER, *([f"namespace/{namespace}"] if namespace in charted else [])]
        names += [f"profile/{scheduler}"] if scheduler in profiles else []
        for name in names:
            part = bucket.get(name) or bucket.setdefault(name, empty_part())
            _add(part, f"pods.{state}", count)
            if queued:
                _add(part, f"queue.{state}", count)
            if state == "bound":
                _add(part, "requested.cpu", cpu or 0)
                _add(part, "requested.memory", memory or 0)
    return bucket


def read_nodes(cluster: Cluster) -> NodeState:
    """The nodes with their requested and allocatable resources; two statements."""
    with connection.cursor() as cursor:
        cursor.execute(_NODES, [cluster.pk])
        nodes = sorted(cursor.fetchall())
        # many nodes are alike
        kinds = {text: index for index, text in enumerate({row[-1] for row in nodes})}
        amounts = [sql.load_json(text) for text in kinds]
        others = sorted(set().union(*amounts) - {*BASIC})[:MAX_OTHERS]
        summed = ("cpu", "memory", *others)
        sums = ", ".join(["coalesce(sum((requests ->> %s)::numeric), 0)::float8"] * len(summed))
        cursor.execute(_REQUESTED.format(sums=sums), [*summed, cluster.pk])
        requested = {name: (*use[:2], use[-1], *use[2:-1]) for name, *use in cursor.fetchall()}
    resources = (*BASIC, *others)
    none = (0.0,) * len(resources)
    of_kinds = [[each.get(resource, 0) for resource in resources] for each in amounts]
    return NodeState(
        ids=np.array([row[0] for row in nodes], dtype=np.int64),
        resources=resources,
        requested=_matrix([requested.get(row[1], none) for row in nodes], len(resources)),
        allocatable=_matrix(of_kinds, len(resources))[[kinds[row[-1]] for row in nodes]],
        ready=np.array([row[2] for row in nodes], dtype=np.bool_),
        cordoned=np.array([row[3] for row in nodes], dtype=np.bool_),
    )


def _matrix(rows: Sequence[Sequence[float]], width: int) -> NDArray[np.float64]:
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)


def add_nodes(bucket: Bucket, state: NodeState) -> None:
    """Add the levels of the nodes to the cluster's part."""
    levels = part_of(bucket, CLUSTER).levels
    usable = state.ready & ~state.cordoned
    levels["nodes.ready"] = float(usable.sum())
    levels["nodes.cordoned"] = float((state.ready & state.cordoned).sum())
    levels["nodes.not-ready"] = float((~state.ready).sum())
    if not len(state.ids):
        return
    shares = state.shares
    for column, resource in enumerate(state.resources):
        own = shares[:, column][~np.isnan(shares[:, column])]
        if not len(own):
            continue
        requested, total = state.requested[:, column].sum(), state.allocatable[:, column].sum()
        levels |= {
            f"use.{resource}": float(requested / total),
            f"use.{resource}.lowest": float(own.min()),
            f"use.{resource}.mean": float(own.mean()),
            f"use.{resource}.highest": float(own.max()),
            f"imbalance.{resource}": float(own.std()),
        }
    if usable.any():
        _add_stranded(levels, state, usable)
        _add_room(levels, state, usable)


def _add_stranded(levels: dict[str, float], state: NodeState, usable: NDArray[np.bool_]) -> None:
    """The share of each resource that is stranded: cpu, memory or pods of its node run out before.

    Of the others, only extended resources: pods rarely request ephemeral storage.
    """
    allocatable, requested = state.allocatable[usable], state.requested[usable]
    free = np.maximum(allocatable - requested, 0)
    basic = slice(0, len(BASIC))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(allocatable > 0, free / allocatable, 0)
    stranded = np.maximum(free - shares[:, basic].min(axis=1, keepdims=True) * allocatable, 0)
    for column, resource in enumerate(state.resources):
        total = allocatable[:, column].sum()
        if resource in BASIC or ("/" in resource and total):
            share = stranded[:, column].sum() / total if total else 0.0
            levels[f"stranded.{resource}"] = float(share)


def _add_room(levels: dict[str, float], state: NodeState, usable: NDArray[np.bool_]) -> None:
    """How many more average pods fit: on cpu, memory and pods.

    Fragmented is the share of the average pods that would fit if all free resources were on one
    node, but do not fit on the nodes.
    """
    basic = slice(0, len(BASIC))
    free = np.maximum(state.allocatable[usable, basic] - state.requested[usable, basic], 0)
    running = state.requested[:, BASIC.index("pods")].sum()
    if not running:
        return
    average = state.requested[:, basic].sum(axis=0) / running
    wanted = average > 0
    fits = np.floor((free[:, wanted] / average[wanted]).min(axis=1)).sum()
    ideal = np.floor((free[:, wanted].sum(axis=0) / average[wanted]).min())
    levels["room"] = float(fits)
    levels["fragmentation"] = float(1 - fits / ideal) if ideal else 0.0


def empty_part() -> Part:
    """A part without pods, whose queues are empty."""
    names = (*(f"pods.{state}" for state in ("bound", *_QUEUES)), *(f"queue.{q}" for q in _QUEUES))
    return Part(levels=dict.fromkeys(names, 0.0))


def _add(part: Part, name: str, amount: float) -> None:
    part.levels[name] = part.levels.get(name, 0.0) + amount

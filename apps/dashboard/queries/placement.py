"""The board of pods on nodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.cluster.models import Cluster, Node, Pod
from apps.dashboard.paging import NumberedPage, numbered_page
from apps.dashboard.tables import Field, refuse_unknown

#: Nodes of a page, and of one question.
NODES = 24
#: Pods that the board shows of a node, and of those without a node.
_PODS = 20
_PENDING = 40


@dataclass(frozen=True, slots=True)
class Spot:
    """A node with its first pods."""

    node: Node
    pods: Sequence[Pod]
    #: how many more it has
    more: int


@dataclass(frozen=True, slots=True)
class Board:
    page: NumberedPage[Node]
    spots: Sequence[Spot]
    #: the first pods without a node
    pending: Sequence[Pod]
    more_pending: int
    filters: Sequence[Field]


def read_board(cluster: Cluster, query: Mapping[str, Any]) -> Board:
    """The nodes that the address selects, with their pods; BadRequest for other parameters."""
    filters = [Field("q", "Node", hint="contains")]
    refuse_unknown(query, filters, ["pod", "node"])
    text = str(query.get("q", "")).strip()
    nodes = Node.objects.filter(cluster=cluster, name__contains=text).order_by("name")
    page = numbered_page(nodes.defer("body"), query, size=NODES)
    pods = Pod.objects.filter(cluster=cluster).exclude(phase__in=("Succeeded", "Failed"))
    pods = pods.defer("body").order_by("namespace", "name")
    shown: defaultdict[str, list[Pod]] = defaultdict(list)
    counts: Counter[str] = Counter()
    for pod in pods.filter(node_name__in=[node.name for node in page.rows]):
        counts[pod.node_name] += 1
        if len(shown[pod.node_name]) < _PODS:
            shown[pod.node_name].append(pod)
    spots = [
        Spot(node, shown[node.name], counts[node.name] - len(shown[node.name]))
        for node in page.rows
    ]
    pending = pods.filter(node_name="")
    first = list(pending[:_PENDING])
    return Board(page, spots, first, pending.count() - len(first), filters)

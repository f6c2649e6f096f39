"""The page of nodes and the page of one node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from apps.administration.clusters.evictions import find_controller
from apps.administration.clusters.pressure import FIELDS
from apps.administration.clusters.summaries import Use
from apps.administration.operations.service import running_drain
from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster, Event, Node, Pod, Taint
from apps.cluster.node_changes import CONDITIONS
from apps.dashboard.paging import NumberedPage, numbered_page
from apps.dashboard.queries.changes import ChangeRow, object_changes
from apps.dashboard.queries.usage import ZONE_LABEL, NodeUse, nodes_in_use
from apps.dashboard.tables import Field, Sorting, read_sorting, refuse_unknown
from apps.engine import queries
from apps.engine.models import Operation, SchedulingDecision
from apps.studies.explanations.node_devices import NodeDevice, list_node_devices

SORTS: Mapping[str, Callable[[NodeUse], Any]] = {
    "name": lambda node: node.name,
    "zone": lambda node: (node.zone, node.name),
    "cpu": lambda node: (node.cpu.share, node.name),
    "memory": lambda node: (node.memory.share, node.name),
    "pods": lambda node: (node.pods.share, node.name),
    "other": lambda node: (node.other.share, node.name),
}
STATES: Mapping[str, Callable[[NodeUse], bool]] = {
    "ready": lambda node: node.ready and not node.unschedulable,
    "not-ready": lambda node: not node.ready,
    "cordoned": lambda node: node.unschedulable,
}
#: Labels of the buttons that set a condition to its unhealthy status.
_FAILURE_LABELS = {
    "MemoryPressure": "Set memory pressure",
    "DiskPressure": "Set disk pressure",
    "PIDPressure": "Set PID pressure",
    "NetworkUnavailable": "Disconnect network",
}
PODS_OF_NODE = 100
RECENT = 10


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node of the list."""

    use: NodeUse
    taints: Sequence[Taint]


@dataclass(frozen=True, slots=True)
class NodeList:
    """A page of nodes, with its sorting and the filters of the list."""

    page: NumberedPage[NodeRow]
    sorting: Sorting[Callable[[NodeUse], Any]]
    filters: Sequence[Field]
    all_nodes: int


@dataclass(frozen=True, slots=True)
class UsageField:
    """A text of the form for mock usage."""

    name: str
    label: str
    value: str
    hint: str


@dataclass(frozen=True, slots=True)
class NodeCondition:
    """A condition that a node may have; `healthy` is its healthy status, "" if it is unknown."""

    type: str
    body: Mapping[str, Any]
    healthy: str

    @property
    def status(self) -> str:
        return str(self.body.get("status") or "")

    @property
    def is_unhealthy(self) -> bool:
        return bool(self.healthy and self.status and self.status != self.healthy)

    @property
    def switches(self) -> list[tuple[str, str]]:
        """(status, label of the button) for each status it can be set to."""
        if not self.healthy:
            return []
        failing = "False" if self.healthy == "True" else "True"
        if self.type == "Ready":
            words = {"True": "Set Ready", "False": "Set NotReady"}
            words["Unknown"] = "Stop kubelet"
        else:
            words = {self.healthy: "Clear", failing: _FAILURE_LABELS[self.type]}
        now = self.status or ("" if self.type == "Ready" else self.healthy)
        return [(status, text) for status, text in words.items() if status != now]


@dataclass(frozen=True, slots=True)
class NodeStanding:
    """What the page of a node says first."""

    #: as `{% state %}` has it
    state: str
    sentence: str


@dataclass(frozen=True, slots=True)
class OneNode:
    """A node, its resources, and its pods."""

    node: Node
    taints: Sequence[Taint]
    resources: Sequence[tuple[str, Use]]
    pods: Sequence[Pod]
    pod_count: int
    events: Sequence[Event]
    decisions: Sequence[SchedulingDecision]
    #: the newest ones
    changes: Sequence[ChangeRow]
    devices: Sequence[NodeDevice]
    drain: Operation | None

    @property
    def zone(self) -> str:
        return str(self.node.labels.get(ZONE_LABEL, ""))

    @property
    def pod_capacity(self) -> int:
        return int(self.node.allocatable.get("pods", 0))

    @property
    def standing(self) -> NodeStanding:
        """Whether new pods come to the node."""
        return _describe_standing(self)

    @property
    def uses_more(self) -> bool:
        """Whether it has mock usage."""
        return any(field.value for field in self.usage)

    @property
    def usage(self) -> Sequence[UsageField]:
        """The fields of the form for mock usage."""
        annotations = self.node.body["metadata"].get("annotations") or {}
        return [
            UsageField(name, label, annotations.get(annotation, ""), hint)
            for name, (annotation, label, hint) in FIELDS.items()
        ]

    @property
    def conditions(self) -> Sequence[NodeCondition]:
        """The well-known conditions, whether the node has them or not, then its others."""
        listed = (self.node.body.get("status") or {}).get("conditions") or []
        by_type = {each.get("type", ""): each for each in listed}
        known = [
            NodeCondition(name, by_type.get(name) or {}, healthy)
            for name, (healthy, _, _) in CONDITIONS.items()
        ]
        others = [NodeCondition(n, body, "") for n, body in by_type.items() if n not in CONDITIONS]
        return [*known, *others]


def node_list(
    cluster: Cluster, query: Mapping[str, str], *, resource: str, resources: Sequence[str]
) -> NodeList:
    """Nodes filtered and sorted as the address says; `resource` is an additional column."""
    all_nodes = nodes_in_use(cluster, resource=resource)
    filters = _filters(sorted({node.zone for node in all_nodes}), resources)
    refuse_unknown(query, filters, ["resource"])
    matches = _filter(all_nodes, query)
    sorting = read_sorting(query, SORTS, default="name")
    matches.sort(key=sorting.key, reverse=sorting.descending)
    page = numbered_page(matches, query)
    taints: dict[int, list[Taint]] = {node.id: [] for node in page.rows}
    for taint in Taint.objects.filter(node_id__in=taints).order_by("node_id", "position"):
        taints[taint.node_id].append(taint)
    rows = [NodeRow(node, taints[node.id]) for node in page.rows]
    return NodeList(page.showing(rows), sorting, filters, len(all_nodes))


def matching_nodes(cluster: Cluster, query: Mapping[str, str]) -> list[str]:
    """The names of all nodes that the filters of the list match."""
    return [node.name for node in _filter(nodes_in_use(cluster), query)]


def _filter(nodes: Sequence[NodeUse], query: Mapping[str, str]) -> list[NodeUse]:
    text, zone = query.get("q", "").strip(), query.get("zone", "")
    in_state = STATES.get(query.get("state", ""), _accept)
    return [
        node
        for node in nodes
        if text in node.name and (not zone or node.zone == zone) and in_state(node)
    ]


def _filters(zones: Sequence[str], resources: Sequence[str]) -> list[Field]:
    fields = [
        Field("q", "Name", hint="contains"),
        Field("zone", "Zone", choices=zones),
        Field("state", "State", choices=[(name, name.replace("-", " ")) for name in STATES]),
    ]
    if resources:
        fields.append(Field("resource", "Also show", choices=resources, nothing="nothing"))
    return fields


def one_node(cluster: Cluster, name: str) -> OneNode:
    """Everything the page of a node shows; NotFound if there is no such node."""
    node = Node.objects.filter(cluster=cluster, name=name).prefetch_related("taints").first()
    if node is None:
        raise NotFound("nodes", name)
    on_node = pods_on_node(cluster, name)
    requests = list(on_node.values_list("requests", flat=True))
    about = Q(involved_uid=str(node.uid)) | Q(involved_uid=name)
    events = Event.objects.filter(about, cluster=cluster).order_by("-resource_version")
    return OneNode(
        node=node,
        taints=list(node.taints.all()),
        resources=_resources(node.allocatable, requests),
        pods=list(on_node.defer("body").order_by("namespace", "name")[:PODS_OF_NODE]),
        pod_count=len(requests),
        events=list(events[:RECENT]),
        decisions=list(queries.list_decisions(cluster, node=name)[:RECENT]),
        changes=object_changes(cluster, node.uid, limit=RECENT),
        devices=list_node_devices(cluster, name),
        drain=running_drain(cluster),
    )


def _describe_standing(one: OneNode) -> NodeStanding:
    pods = f"{one.pod_count:,} pod{'' if one.pod_count == 1 else 's'}"
    if not one.node.ready:
        sentence = "It is not ready: no new pods come, and those leave that do not tolerate it."
        return NodeStanding("not-ready", sentence)
    if one.node.unschedulable:
        return NodeStanding("cordoned", f"It is cordoned: no new pods come. It has {pods}.")
    resources = [(name, use) for name, use in one.resources if use.allocatable or use.requested]
    full = [name for name, use in resources if use.share >= 1]
    if full:
        sentence = f"It has {pods}, and no {' and no '.join(full)} left for others."
        return NodeStanding("ready", sentence)
    keeping = [each for each in one.taints if each.effect != "PreferNoSchedule"]
    if keeping:
        listed = ", ".join(map(str, keeping))
        return NodeStanding("ready", f"It takes only pods that tolerate {listed}. It has {pods}.")
    if not resources:
        return NodeStanding("ready", "It declares no resources, so no pod fits.")
    name, most = max(resources, key=lambda each: each[1].share)
    sentence = f"It takes new pods. It has {pods}; up to {most.percent} % is requested ({name})."
    return NodeStanding("ready", sentence)


def _accept(node: NodeUse) -> bool:
    return True


def pods_on_node(cluster: Cluster, name: str) -> QuerySet[Pod]:
    """The pods that use resources of a node: bound and not terminated."""
    bound = Pod.objects.filter(cluster=cluster, node_name=name)
    return bound.exclude(phase__in=("Succeeded", "Failed"))


def existing_names(
    cluster: Cluster, names: Sequence[str], *, versions: Sequence[int] | None = None
) -> list[str]:
    """The names that nodes have, sorted; with `versions`, only of nodes in these versions."""
    existing = Node.objects.filter(cluster=cluster, name__in=names)
    if versions is not None:
        existing = existing.filter(resource_version__in=versions)
    return list(existing.order_by("name").values_list("name", flat=True))


def node_condition(cluster: Cluster, name: str, condition: str) -> str:
    """The status of a node's condition; "" if it has none."""
    node = Node.objects.filter(cluster=cluster, name=name).first()
    listed = (node.body.get("status") or {}).get("conditions") if node is not None else None
    conditions = [each for each in listed or () if each.get("type") == condition]
    return str(conditions[0].get("status") or "") if conditions else ""


@dataclass(frozen=True, slots=True)
class StrandedPods:
    """The pods that lose their node when nodes are deleted."""

    count: int
    #: `namespace/name` of those that no controller recreates.
    lost: Sequence[str]


def stranded_pods(cluster: Cluster, names: Sequence[str]) -> StrandedPods:
    """The pods that are bound to these nodes and have not terminated."""
    bound = Pod.objects.filter(cluster=cluster, node_name__in=names)
    bound = bound.exclude(phase__in=("Succeeded", "Failed")).order_by("namespace", "name")
    pods = list(bound)
    lost = [f"{pod.namespace}/{pod.name}" for pod in pods if not find_controller(pod.body)]
    return StrandedPods(len(pods), lost)


def _resources(
    allocatable: Mapping[str, int], requests: Sequence[Mapping[str, int]]
) -> list[tuple[str, Use]]:
    names = {*allocatable, *(name for each in requests for name in each)}
    first = ["cpu", "memory", "pods"]
    ordered = [*first, *sorted(names.difference(first))]
    return [
        (
            name,
            Use(
                len(requests) if name == "pods" else sum(each.get(name, 0) for each in requests),
                allocatable.get(name, 0),
            ),
        )
        for name in ordered
    ]

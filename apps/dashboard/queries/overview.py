"""The page of one cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import QuerySet

from apps.administration.clusters.summaries import (
    PodStates,
    Throughput,
    Use,
    pod_states,
    throughputs,
)
from apps.administration.shadows.creating import find_shadow
from apps.cluster.models import Cluster, Event
from apps.dashboard.queries.operations import recent_operations
from apps.dashboard.queries.opinions import agreement_of
from apps.dashboard.queries.usage import (
    ZONE_LABEL,
    NodesUse,
    ZoneUse,
    by_zone,
    label_names,
    nodes_in_use,
    resource_names,
)
from apps.engine import queries
from apps.engine.models import Operation, SchedulingDecision, Shadow
from apps.engine.opinions import Agreement
from apps.engine.queue.listing import Part
from apps.studies.history.story import SHOWN_AS_ATTEMPTS

RECENT = 6
#: Among so many newest events, those are looked for that say more than the decisions.
NEWEST_EVENTS = 500


#: The plugins that rejected the most nodes for the most unschedulable pods, each pod counted once.
#: Of very many, those that have waited longest are counted: the decision of each is looked up.
_REJECTING = """
    SELECT d.plugin, count(*) FROM (
        SELECT pod_uid FROM controlplane_queueentry
        WHERE cluster_id = %s AND queue = 'unschedulable' ORDER BY timestamp LIMIT 1000
    ) q CROSS JOIN LATERAL (
        SELECT unschedulable_plugins[1] AS plugin FROM controlplane_schedulingdecision
        WHERE pod_uid = q.pod_uid ORDER BY id DESC LIMIT 1
    ) d
    WHERE d.plugin IS NOT NULL
    GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3
"""


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything the page of a cluster shows."""

    all: NodesUse
    zones: Sequence[ZoneUse]
    resources: Sequence[str]
    resource: str
    labels: Sequence[str]
    label: str
    pods: PodStates
    #: (plugin, number of unschedulable pods for which it rejected most nodes), most pods first.
    rejecting: Sequence[tuple[str, int]]
    #: Names of the nodes with a taint for memory, disk or PID pressure.
    under_pressure: Sequence[str]
    throughput: Throughput
    decisions: Sequence[SchedulingDecision]
    events: Sequence[Event]
    operations: Sequence[Operation]
    #: None unless a client schedules the cluster.
    agreement: Agreement | None
    #: What the cluster follows; None if it is no shadow.
    shadow: Shadow | None

    @property
    def has_none(self) -> bool:
        """Whether a node has none of the charted resource."""
        return any(_thousandths(node.of(self.resource)) < 0 for node in self.all.nodes)

    @property
    def needs_attention(self) -> bool:
        """Whether pods or nodes are in a state that someone should look at."""
        waiting = self.pods.queues[Part.UNSCHEDULABLE] + self.pods.of_others
        nodes = self.all.not_ready + self.all.cordoned + len(self.under_pressure)
        return bool(waiting or self.pods.failed or nodes)


def cluster_overview(cluster: Cluster, *, resource: str, label: str) -> Overview:
    """The overview of a cluster; nodes are grouped by `label`, and `resource` is charted."""
    known = ["cpu", "memory", "pods", *resource_names(cluster)]
    labels = label_names(cluster)
    resource = resource if resource in known else "cpu"
    label = label if label in labels else ZONE_LABEL
    nodes = nodes_in_use(cluster, resource=resource, label=label)
    return Overview(
        all=NodesUse(nodes),
        zones=by_zone(nodes),
        resources=known,
        resource=resource,
        labels=labels,
        label=label,
        pods=pod_states(cluster),
        rejecting=_read_rejecting_plugins(cluster),
        under_pressure=[node.name for node in nodes if node.under_pressure],
        throughput=throughputs([cluster.pk])[cluster.pk],
        decisions=list(queries.list_decisions(cluster)[:RECENT]),
        events=list(_other_events(cluster)[:RECENT]),
        operations=recent_operations(cluster),
        agreement=agreement_of(cluster),
        shadow=find_shadow(cluster),
    )


def _other_events(cluster: Cluster) -> QuerySet[Event]:
    """The newest events, without those that repeat what decisions say."""
    newest = Event.objects.filter(cluster=cluster).order_by("-resource_version")
    return (
        Event.objects.filter(pk__in=newest.values("pk")[:NEWEST_EVENTS])
        .exclude(reason__in=SHOWN_AS_ATTEMPTS)
        .order_by("-resource_version")
    )


def heat_map(cluster: Cluster, *, resource: str, label: str) -> dict[str, object]:
    """The nodes by group, as compact JSON.

    `groups` are (name, number of nodes). `names`, `shares` (thousandths; -1 for a node that has
    none of the resource) and `states` (a digit: 1 cordoned, 2 not ready, 3 both) have an entry for
    each node, in the order of the groups.
    """
    groups = by_zone(nodes_in_use(cluster, resource=resource, label=label))
    nodes = [node for group in groups for node in group.nodes]
    return {
        "resource": resource,
        "groups": [(group.name, len(group.nodes)) for group in groups],
        "names": [node.name for node in nodes],
        "shares": [_thousandths(node.of(resource)) for node in nodes],
        "states": "".join(str(node.unschedulable + 2 * (not node.ready)) for node in nodes),
    }


def _thousandths(use: Use) -> int:
    if not (use.allocatable or use.requested):
        return -1
    return min(9999, int(use.share * 1000))


def _read_rejecting_plugins(cluster: Cluster) -> list[tuple[str, int]]:
    with connection.cursor() as cursor:
        cursor.execute(_REJECTING, [cluster.pk])
        return list(cursor.fetchall())

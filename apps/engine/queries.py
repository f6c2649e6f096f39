"""Queries of the control plane that several rooms share: queues, placements, decisions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Count, QuerySet

from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster, ForkPoint, Pod
from apps.engine.models import PastCluster, SchedulingDecision
from apps.engine.profiles import revisions
from apps.scheduler.config import Configuration


@dataclass(frozen=True, slots=True)
class Placement:
    """The node of one pod and its scores, or why the pod is pending."""

    #: The pod's name, with the prefix "namespace/" if the namespace is not "default".
    pod: str
    node: str
    total_score: int | None
    feasible_nodes: int | None
    tied_nodes: int | None
    message: str


class DecisionBeforeFork(NotFound):
    """The decision is in the ledger of the cluster that this one was forked from."""

    def __init__(self, number: int, point: ForkPoint, present: str) -> None:
        super().__init__("decisions", str(number))
        address = f": /clusters/{present}/decisions/{number}" if present else ", which is deleted"
        self.message += (
            f"; it was made in cluster {point.name} before the fork at version "
            f"{point.version:,}{address}"
        )


def list_cluster_names() -> dict[int, str]:
    """The names of all clusters by id, including deleted ones."""
    past = PastCluster.objects.values_list("pk", "name")
    return dict(Cluster.objects.values_list("pk", "name").union(past))


def list_scheduler_names(cluster: Cluster) -> list[str]:
    """The schedulerNames of the cluster's active configuration."""
    configuration = revisions.load_configuration(revisions.get_active(cluster))
    return [profile.scheduler_name for profile in configuration.profiles]


def list_pods_of_other_schedulers(cluster: Cluster) -> QuerySet[Pod]:
    """Pending pods whose schedulerName no profile of this cluster has."""
    pending = Pod.objects.filter(cluster=cluster, node_name="")
    pending = pending.exclude(phase__in=("Succeeded", "Failed"))
    return pending.exclude(scheduler_name__in=list_scheduler_names(cluster))


def count_pending_pods(cluster: Cluster) -> dict[str, int]:
    """The pods without a node that have not finished, by schedulerName."""
    pending = Pod.objects.filter(cluster=cluster, node_name="")
    pending = pending.exclude(phase__in=("Succeeded", "Failed"))
    counted = pending.values_list("scheduler_name").annotate(Count("pk")).order_by("scheduler_name")
    return dict(counted)


def count_stranded_pods(cluster: Cluster, configuration: Configuration) -> dict[str, int]:
    """The pending pods that no profile of a configuration would schedule, by schedulerName."""
    known = {profile.scheduler_name for profile in configuration.profiles}
    pending = count_pending_pods(cluster)
    return {name: count for name, count in pending.items() if name not in known}


def list_decisions(cluster: Cluster, **filters: Any) -> QuerySet[SchedulingDecision]:
    """Decisions, newest first, with `columns` deferred."""
    decisions = SchedulingDecision.objects.filter(cluster=cluster, **filters)
    return decisions.defer("columns").order_by("-id")


def decision_numbered(number: int, cluster: Cluster | None = None) -> SchedulingDecision:
    """A decision with its columns; raises NotFound when there is none, or it is another cluster's.

    If the cluster is a fork and the decision was made before the fork point, the error names the
    cluster that has it.
    """
    decisions = SchedulingDecision.objects.filter(pk=number)
    row = (decisions if cluster is None else decisions.filter(cluster=cluster)).first()
    if row is None:
        raise _find_before_fork(number, cluster) or NotFound("decisions", str(number))
    return row


def _find_before_fork(number: int, cluster: Cluster | None) -> NotFound | None:
    points = {each.ancestor: each for each in ForkPoint.objects.filter(cluster=cluster)}
    rows = SchedulingDecision.objects.filter(pk=number, cluster_id__in=points)
    earlier = rows.values_list("cluster_id", "cluster_version").first()
    if earlier is None or earlier[1] >= points[earlier[0]].version:
        return None
    present = Cluster.objects.filter(pk=earlier[0]).values_list("name", flat=True).first()
    return DecisionBeforeFork(number, points[earlier[0]], present or "")


def list_placements(cluster: Cluster) -> Iterator[Placement]:
    """Every pod in the order of creation, with the result of its last attempt."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.namespace, p.name, p.node_name, d.total_score, d.feasible_nodes, "
            "d.tied_nodes, d.message FROM cluster_pod p LEFT JOIN LATERAL ("
            "SELECT * FROM controlplane_schedulingdecision d WHERE d.cluster_id = p.cluster_id "
            "AND d.pod_uid = p.uid ORDER BY d.attempt DESC, d.id DESC LIMIT 1) d ON true "
            "WHERE p.cluster_id = %s ORDER BY p.id",
            [cluster.pk],
        )
        for namespace, name, node, score, feasible, tied, message in cursor.fetchall():
            pod = name if namespace == "default" else f"{namespace}/{name}"
            yield Placement(pod, node, score, feasible, tied, message or "")

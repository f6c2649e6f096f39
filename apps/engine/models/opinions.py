"""Second opinions about the decisions of an external scheduler."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from apps.cluster.models import Cluster


class SecondOpinion(models.Model):
    """What this site's scheduler would have decided for a pod that a client bound or rejected."""

    class Verdict(models.TextChoices):
        SAME_NODE = "same-node", "same node"
        TIE = "tie", "node with the same score"
        #: one of both, if some pods were decided in another order than they were bound
        ORDER = "order", "explained by the order"
        #: one of both in an earlier state, which the client may still have seen
        MOVED_ON = "moved-on", "explained by an earlier state"
        #: the client has rejected the pod
        SAME_REASONS = "same-reasons", "rejected for the same reasons"
        OTHER_REASONS = "other-reasons", "rejected for other reasons"
        FEASIBLE = "feasible", "a node is feasible"
        OTHER_NODE = "other-node", "another node has more points"
        NODE_REJECTED = "node-rejected", "the node is rejected"
        UNSCHEDULABLE = "unschedulable", "no node is feasible"
        #: not compared: with sampling, two schedulers look at different nodes
        NOT_SAMPLED = "not-sampled", "not sampled"

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, db_index=False)
    #: Version of the binding, or of the condition with which the pod was rejected.
    version = models.BigIntegerField()
    #: By the cluster's clock.
    at = models.DateTimeField()
    #: By the database's clock, for retention.
    recorded_at = models.DateTimeField(db_default=Now())
    pod_uid = models.UUIDField()
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    #: Who bound or rejected the pod.
    user = models.CharField(max_length=150, blank=True)
    profile_revision = models.PositiveIntegerField()
    scheduler_name = models.CharField(max_length=253)
    verdict = models.CharField(max_length=16, choices=Verdict.choices)
    #: Empty if the client rejected the pod.
    guest_node = models.CharField(max_length=253, blank=True)
    #: The node that this site's scheduler would have selected; empty if none.
    node = models.CharField(max_length=253, blank=True)
    #: The explanation of a disagreement, or the cause that explains the binding; otherwise empty.
    message = models.TextField(blank=True)
    #: Both nodes plugin by plugin, as `results.comparison.Comparison`; null without scores.
    comparison = models.JSONField(null=True)
    nodes = models.PositiveIntegerField()
    feasible_nodes = models.PositiveIntegerField()
    tied_nodes = models.PositiveIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["cluster", "version"], name="one_opinion_a_binding"),
        )
        indexes = (
            # the page: counts by verdict, and the disagreements, newest first
            models.Index(fields=["cluster", "verdict", "-id"], name="opinion_by_verdict"),
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} on {self.guest_node}: {self.verdict}"

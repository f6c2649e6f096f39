"""Metrics of a cluster's scheduler, and charts over time."""

from __future__ import annotations

from django.db import models

from apps.cluster.models import Cluster


class SchedulerMetrics(models.Model):
    """The metrics of a cluster's scheduler since the cluster was created.

    Written in the recorder's transactions, so that they always agree with the ledger.
    """

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    #: zstandard-compressed MessagePack of `apps.scheduler.metrics.series.SavedValues`
    series = models.BinaryField()

    def __str__(self) -> str:
        return f"metrics of cluster {self.cluster_id}"


class SeriesBucket(models.Model):
    """The figures of a cluster in one span of its clock; `apps.engine.series` reads them."""

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, db_constraint=False, db_index=False
    )
    #: Width in seconds.
    resolution = models.PositiveIntegerField()
    start = models.DateTimeField()
    #: Up to this time the cluster is known to have had the levels of the last sample; null if the
    #: bucket only has counts.
    until = models.DateTimeField(null=True)
    #: zstandard-compressed MessagePack of `series.buckets.Bucket`
    figures = models.BinaryField()
    #: `series.node_columns` of the last sample; null if there was none, or nodes are not retained
    #: in this resolution.
    nodes = models.BinaryField(null=True)

    class Meta:
        constraints = (
            # a chart reads one resolution from one time to another
            models.UniqueConstraint(
                fields=["cluster", "resolution", "start"], name="unique_series_bucket"
            ),
        )

    def __str__(self) -> str:
        return f"{self.cluster_id} at {self.start} for {self.resolution} s"


class SeriesCursor(models.Model):
    """What the series of a cluster contain so far: each row is counted once.

    Written with the buckets, in the transaction that locks this row.
    """

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    #: When the cluster was last looked at, by its clock.
    sampled_at = models.DateTimeField()
    #: Version of the cluster at the last sample, and the transaction that wrote its metrics; -1 if
    #: rows remain to be counted.
    version = models.BigIntegerField(default=-1)
    metrics_xid = models.BigIntegerField(default=0)
    #: The last counted rows of the ledger and of the queue's history.
    decision_id = models.BigIntegerField(default=0)
    move_id = models.BigIntegerField(default=0)
    #: The cluster is not sampled again before, because its last sample took long; in real time.
    next_at = models.DateTimeField(null=True)
    #: `SchedulerMetrics.series` as counted.
    baseline = models.BinaryField(default=b"")

    def __str__(self) -> str:
        return f"series of cluster {self.cluster_id} until {self.sampled_at}"

"""Who runs a cluster's loop, and which processes are alive."""

from __future__ import annotations

from django.db import models

from apps.cluster.models import Cluster


class LoopLease(models.Model):
    """Which worker may schedule a cluster. Times are by the database's clock.

    Every transaction of the recorder locks this row and checks that `epoch` is unchanged: a holder
    that was stopped and continues after its lease expired finds another epoch and writes nothing.
    """

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    holder = models.CharField(max_length=100, blank=True)
    epoch = models.BigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)
    #: The loop has processed every change up to this version.
    consumed_version = models.BigIntegerField(default=0)
    #: The configuration revision that the loop used.
    profile_revision = models.PositiveIntegerField(default=1)
    #: How many pods the loop has popped, and after how many an event last asked to move pods.
    scheduling_cycle = models.BigIntegerField(default=0)
    move_request_cycle = models.BigIntegerField(default=0)
    #: Runs in a row that ended with an error, and the error of the last one.
    failures = models.PositiveIntegerField(default=0, db_default=0)
    failure = models.TextField(default="", db_default="")

    def __str__(self) -> str:
        return f"{self.cluster_id} held by {self.holder or 'no worker'} (epoch {self.epoch})"


class Heartbeat(models.Model):
    """When a part of the control plane last reported, by the database's clock."""

    name = models.CharField(max_length=100, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} at {self.at:%H:%M:%S}"

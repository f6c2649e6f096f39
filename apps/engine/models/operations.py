"""Long-running work that a worker does."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from apps.cluster.models import Cluster


class Operation(models.Model):
    """Long work that a user started: its progress, and how it ended.

    `apps.administration.operations` runs it in a worker. Its times are real time, regardless of the
    cluster's clock.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    #: A name in `operations.registry`.
    kind = models.CharField(max_length=32)
    #: Shown to users: "Drain node-7".
    title = models.CharField(max_length=300)
    #: Null until it has created its cluster, and if it created none.
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, null=True, db_index=False)
    arguments = models.JSONField(default=dict)
    #: Uploaded data as zstandard-compressed JSON; null when the work has ended, unless it failed
    #: and the user can correct the data.
    payload = models.BinaryField(null=True)
    state = models.CharField(max_length=16, choices=State.choices, default=State.WAITING)
    #: Completed steps of `total`; both are 0 while the total is unknown.
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    #: The current step, or the result.
    message = models.TextField(blank=True)
    #: Why it failed.
    cause = models.TextField(blank=True)
    #: The resulting file, zstandard-compressed.
    output = models.BinaryField(null=True)
    output_name = models.CharField(max_length=100, blank=True)
    cancel_requested = models.BooleanField(default=False)
    #: The worker that runs it, and the number of workers that have started it.
    worker = models.CharField(max_length=100, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    #: When the worker last renewed its lease, by the database's clock.
    renewed_at = models.DateTimeField(null=True)
    user = models.CharField(max_length=150)
    request_id = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            # two concurrent drains would invalidate each other's preview
            models.UniqueConstraint(
                fields=["cluster"],
                condition=models.Q(kind="drain", state__in=("waiting", "running")),
                name="one_drain_a_cluster",
            ),
        )
        indexes = (
            # beat: operations that wait for a worker, or whose worker may be dead
            models.Index(
                fields=["id"],
                name="operation_unfinished",
                condition=models.Q(state__in=("waiting", "running")),
            ),
            # a cluster's page, newest first
            models.Index(fields=["cluster", "-id"], name="operation_of_cluster"),
        )

    def __str__(self) -> str:
        return f"{self.title}: {self.state}"

    @property
    def finished(self) -> bool:
        return self.state not in (self.State.WAITING, self.State.RUNNING)

    @property
    def can_be_corrected(self) -> bool:
        """Whether it was started by a form that shows its data again if it fails."""
        return "form" in self.arguments

    @property
    def percent(self) -> int:
        """The progress in percent, rounded down: 100 only when all steps are done."""
        return 100 * self.done // self.total if self.total else 0

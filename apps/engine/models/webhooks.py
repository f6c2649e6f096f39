"""Webhooks, and their deliveries."""

from __future__ import annotations

from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from apps.cluster.models import Cluster
from apps.engine.encrypted import EncryptedField


class Webhook(models.Model):
    """An address that gets the events of a cluster; `apps.administration.webhooks` sends them."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    url = models.CharField(max_length=2000)
    #: Names of `webhooks.events.KINDS`.
    kinds = ArrayField(models.CharField(max_length=40))
    #: Key of the signatures; at most 100 characters.
    secret = EncryptedField()
    enabled = models.BooleanField(default=True)
    user = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)
    #: Events were collected up to this decision, and this time for operations.
    decision_position = models.BigIntegerField(default=0)
    collected_at = models.DateTimeField(default=timezone.now)
    #: Whether the cluster was paused then.
    cluster_paused = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.url


class WebhookDelivery(models.Model):
    """One request to a webhook: some events, and what became of it. Retained for some days."""

    class State(models.TextChoices):
        WAITING = "waiting"
        SUCCEEDED = "succeeded"
        FAILED = "failed"

    # with a cluster, so that a cluster is deleted with all of them
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, db_index=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    uid = models.UUIDField(default=uuid4)
    events = models.JSONField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    #: When it is sent next, while it waits.
    next_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)
    #: Of the last attempt: the status code, how long it took, and the error or the response.
    status_code = models.PositiveSmallIntegerField(null=True)
    duration_ms = models.PositiveIntegerField(null=True)
    answer = models.TextField(blank=True)

    class Meta:
        indexes = (
            models.Index(
                fields=["next_at"],
                name="delivery_waiting",
                condition=models.Q(state="waiting"),
            ),
        )

    def __str__(self) -> str:
        return f"{self.uid}: {self.state}"

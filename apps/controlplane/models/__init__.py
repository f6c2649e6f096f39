"""The tables of the control plane. Only `apps.controlplane` writes them."""

from __future__ import annotations

from apps.controlplane.models.configuration import ConfigurationDraft, ConfigurationRevision
from apps.controlplane.models.ledger import GroupAttempt, NodeTable, SavedView, SchedulingDecision
from apps.controlplane.models.loop import Heartbeat, LoopLease
from apps.controlplane.models.metrics import SchedulerMetrics, SeriesBucket, SeriesCursor
from apps.controlplane.models.operations import Operation
from apps.controlplane.models.opinions import SecondOpinion
from apps.controlplane.models.past import PastCluster, VersionMark
from apps.controlplane.models.queue import (
    ROUTINE_MOVES,
    PermitWait,
    QueueActivation,
    QueueEntry,
    QueueMove,
)
from apps.controlplane.models.webhooks import Webhook, WebhookDelivery

__all__ = [
    "ROUTINE_MOVES",
    "ConfigurationDraft",
    "ConfigurationRevision",
    "GroupAttempt",
    "Heartbeat",
    "LoopLease",
    "NodeTable",
    "Operation",
    "PastCluster",
    "PermitWait",
    "QueueActivation",
    "QueueEntry",
    "QueueMove",
    "SavedView",
    "SchedulerMetrics",
    "SchedulingDecision",
    "SecondOpinion",
    "SeriesBucket",
    "SeriesCursor",
    "VersionMark",
    "Webhook",
    "WebhookDelivery",
]

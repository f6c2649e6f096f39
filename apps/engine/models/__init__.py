"""The tables of the control plane. The APIs and the pages write none of them."""

from __future__ import annotations

from apps.engine.models.configuration import ConfigurationDraft, ConfigurationRevision
from apps.engine.models.ledger import GroupAttempt, NodeTable, SavedView, SchedulingDecision
from apps.engine.models.loop import Heartbeat, LoopLease
from apps.engine.models.metrics import SchedulerMetrics, SeriesBucket, SeriesCursor
from apps.engine.models.operations import Operation
from apps.engine.models.opinions import SecondOpinion
from apps.engine.models.past import PastCluster, VersionMark
from apps.engine.models.queue import (
    ROUTINE_MOVES,
    PermitWait,
    QueueActivation,
    QueueEntry,
    QueueMove,
)
from apps.engine.models.shadows import Shadow
from apps.engine.models.webhooks import Webhook, WebhookDelivery

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
    "Shadow",
    "VersionMark",
    "Webhook",
    "WebhookDelivery",
]

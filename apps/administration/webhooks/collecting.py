"""Creates deliveries from new events, and finds those that are due; called by beat."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.administration.webhooks.event_kinds import TEST, collect_events
from apps.engine.models import Webhook, WebhookDelivery

#: Events in one request.
MAX_EVENTS = 100
#: Deliveries are retained for this time, and at most so many of a webhook.
KEPT = timedelta(days=7)
MAX_KEPT = 5000
#: Deliveries of a webhook that wait; beyond, the oldest are given up.
MAX_WAITING = 1000
#: A delivery whose worker stopped is sent again after this time.
_CLAIM = timedelta(seconds=60)


def collect() -> None:
    """Create deliveries for the new events of each enabled webhook."""
    for number in Webhook.objects.filter(enabled=True).values_list("pk", flat=True):
        with transaction.atomic():
            rows = Webhook.objects.select_for_update(of=("self",), skip_locked=True)
            webhook = rows.select_related("cluster").filter(pk=number).first()
            if webhook is not None:
                collect_one(webhook)


def claim_due() -> list[int]:
    """The deliveries to send now, at most one of each webhook, so that they stay in order.

    While a webhook is disabled, it is sent nothing but tests.
    """
    now = timezone.now()
    waiting = WebhookDelivery.objects.filter(state=WebhookDelivery.State.WAITING)
    sent = waiting.filter(Q(webhook__enabled=True) | Q(events__0__kind=TEST))
    oldest = sent.order_by("webhook_id", "pk").distinct("webhook_id")
    due = []
    for delivery in oldest.only("pk", "next_at"):
        claimed = waiting.filter(pk=delivery.pk, next_at__lte=now).update(next_at=now + _CLAIM)
        due += [delivery.pk] if claimed else []
    return due


def forget_old() -> None:
    """Delete deliveries that finished long ago, and those beyond the newest of a webhook."""
    finished = WebhookDelivery.objects.exclude(state=WebhookDelivery.State.WAITING)
    finished.filter(finished_at__lt=timezone.now() - KEPT).delete()
    for webhook in Webhook.objects.all():
        own = WebhookDelivery.objects.filter(webhook=webhook).order_by("-pk")
        beyond = own.values_list("pk", flat=True)[MAX_KEPT : MAX_KEPT + 1].first()
        if beyond is not None:
            finished.filter(webhook=webhook, pk__lte=beyond).delete()


def collect_one(webhook: Webhook) -> None:
    """Create deliveries for the new events of a webhook, whose row the caller has locked."""
    before = (webhook.decision_position, webhook.cluster_paused)
    events = collect_events(webhook)
    for start in range(0, len(events), MAX_EVENTS):
        WebhookDelivery.objects.create(
            webhook=webhook,
            cluster_id=webhook.cluster_id,
            events=events[start : start + MAX_EVENTS],
        )
    if events:
        _give_up_oldest(webhook)
    if events or before != (webhook.decision_position, webhook.cluster_paused):
        webhook.save(update_fields=["decision_position", "collected_at", "cluster_paused"])


def _give_up_oldest(webhook: Webhook) -> None:
    """An address that does not answer must not fill the database."""
    waiting = WebhookDelivery.objects.filter(
        webhook=webhook, state=WebhookDelivery.State.WAITING
    ).order_by("-pk")
    newest = waiting.values_list("pk", flat=True)[MAX_WAITING : MAX_WAITING + 1].first()
    if newest is not None:
        waiting.filter(pk__lte=newest).update(
            state=WebhookDelivery.State.FAILED,
            finished_at=timezone.now(),
            answer=f"given up, because {MAX_WAITING:,} newer deliveries wait",
        )

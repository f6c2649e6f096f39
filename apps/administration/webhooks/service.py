"""Adds, changes, tests and deletes webhooks."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Max, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from apps.administration.webhooks import collecting
from apps.administration.webhooks.event_kinds import KINDS, TEST, reads_decisions
from apps.cluster import limits
from apps.cluster.errors import Cause, Invalid, NotFound
from apps.cluster.models import Cluster
from apps.engine.models import SchedulingDecision, Webhook, WebhookDelivery

#: Webhooks of one cluster.


def add_webhook(
    cluster: Cluster, url: str, kinds: Collection[str], *, user: str, secret: str = ""
) -> Webhook:
    """Add a webhook for events from now on; a secret is created if none is given.

    Raises Invalid, which names the field.
    """
    causes = find_faults(url, kinds)
    if webhooks_of(cluster).count() >= limits.WEBHOOKS.highest:
        causes.append(
            Cause("FieldValueInvalid", f"a cluster has at most {limits.WEBHOOKS.highest}", "url")
        )
    if causes:
        raise Invalid("Webhook", "", causes)
    return Webhook.objects.create(
        cluster=cluster,
        url=url,
        kinds=[kind for kind in KINDS if kind in kinds],
        secret=secret or secrets.token_hex(20),
        user=user,
        decision_position=_newest_decision(cluster),
        cluster_paused=cluster.paused,
    )


def change_webhook(
    webhook: Webhook, *, url: str | None = None, kinds: Collection[str] | None = None
) -> None:
    """Change the address, which also receives what waits, or the kinds of events from now on.

    Raises Invalid, which names the field.
    """
    url = webhook.url if url is None else url
    kinds = webhook.kinds if kinds is None else kinds
    if causes := find_faults(url, kinds):
        raise Invalid("Webhook", "", causes)
    with transaction.atomic():
        rows = webhooks_of(webhook.cluster).select_for_update(of=("self",))
        webhook.refresh_from_db(from_queryset=rows)
        if webhook.enabled:
            # what has happened until now is sent if it is of the kinds chosen until now
            collecting.collect_one(webhook)
        if not reads_decisions(webhook.kinds):
            webhook.decision_position = _newest_decision(webhook.cluster)
        webhook.url = url
        webhook.kinds = [kind for kind in KINDS if kind in kinds]
        webhook.save()


def webhooks_of(cluster: Cluster) -> QuerySet[Webhook]:
    """The webhooks of a cluster, oldest first."""
    return Webhook.objects.filter(cluster=cluster).select_related("cluster").order_by("pk")


def get_webhook(cluster: Cluster, number: int) -> Webhook:
    """A webhook of the cluster; NotFound if there is none with this number."""
    webhook = webhooks_of(cluster).filter(pk=number).first() if number < 2**63 else None
    if webhook is None:
        raise NotFound("webhooks", str(number))
    return webhook


def deliveries_of(webhook: Webhook) -> QuerySet[WebhookDelivery]:
    """The deliveries of a webhook, newest first."""
    return WebhookDelivery.objects.filter(webhook=webhook).order_by("-pk")


def set_enabled(webhook: Webhook, enabled: bool) -> None:
    """Enable or disable a webhook: events in between are not sent, and what waits waits."""
    webhook.enabled = enabled
    webhook.decision_position = _newest_decision(webhook.cluster)
    webhook.collected_at = timezone.now()
    webhook.cluster_paused = webhook.cluster.paused
    webhook.save()


def replace_secret(webhook: Webhook, secret: str = "") -> None:
    """Sign with this secret from now on; one is created if none is given."""
    webhook.secret = secret or secrets.token_hex(20)
    webhook.save(update_fields=["secret"])


@transaction.atomic
def encrypt_anew() -> None:
    """Encrypt every secret with the first key of the site, unless the site has lost its key."""
    for webhook in Webhook.objects.select_for_update():
        if webhook.secret:
            webhook.save(update_fields=["secret"])


def retry(webhook: Webhook) -> int:
    """Send the deliveries that wait or were given up as soon as possible; returns their number."""
    states = (WebhookDelivery.State.WAITING, WebhookDelivery.State.FAILED)
    return (
        deliveries_of(webhook)
        .filter(state__in=states)
        .update(
            state=WebhookDelivery.State.WAITING,
            attempts=0,
            next_at=timezone.now(),
            finished_at=None,
        )
    )


def list_webhooks(cluster: Cluster) -> QuerySet[Webhook]:
    """The webhooks of a cluster, with `is_failing`: the last request was not accepted."""
    own = WebhookDelivery.objects.filter(webhook=OuterRef("pk"), attempts__gt=0).order_by("-pk")
    last = Subquery(own.values("state")[:1])
    refused = Q(last_state__in=(WebhookDelivery.State.WAITING, WebhookDelivery.State.FAILED))
    return webhooks_of(cluster).annotate(last_state=last, is_failing=refused)


def has_failures(webhook: Webhook) -> bool:
    """Whether a delivery was not accepted at its last attempt."""
    failed = Q(state=WebhookDelivery.State.FAILED)
    refused = Q(state=WebhookDelivery.State.WAITING, attempts__gt=0)
    return deliveries_of(webhook).filter(failed | refused).exists()


def send_test(webhook: Webhook) -> WebhookDelivery:
    """Create a delivery with one event of the kind "test"."""
    event = {"kind": TEST, "at": timezone.now().isoformat(timespec="milliseconds")}
    return WebhookDelivery.objects.create(
        webhook=webhook, cluster_id=webhook.cluster_id, events=[event]
    )


def delete_webhook(webhook: Webhook) -> None:
    """Delete a webhook with its deliveries."""
    webhook.delete()


def _newest_decision(cluster: Cluster) -> int:
    newest = SchedulingDecision.objects.filter(cluster=cluster).aggregate(last=Max("pk"))
    return newest["last"] or 0


def find_faults(url: str, kinds: Collection[str]) -> list[Cause]:
    """What is wrong with the fields of a webhook, each cause with its field."""
    causes = []
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(each.isspace() or not each.isprintable() for each in url):
        causes.append(Cause("FieldValueInvalid", f"{url!r} is not an http or https URL", "url"))
    elif parts.username or parts.password:
        causes.append(Cause("FieldValueInvalid", "must not contain a user or password", "url"))
    if not kinds:
        causes.append(Cause("FieldValueRequired", "choose at least one kind", "kinds"))
    for kind in sorted(set(kinds) - KINDS.keys()):
        known = ", ".join(KINDS)
        causes.append(Cause("FieldValueNotSupported", f"{kind!r} is not one of {known}", "kinds"))
    return causes

"""Posts one delivery: signed, with limits on time, size and destination."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import ssl
import time
from datetime import timedelta
from typing import Final
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.utils import timezone

from apps.engine.models import WebhookDelivery
from apps.scheduler.outgoing.deadline import connect, secured
from apps.scheduler.outgoing.failures import describe_failure
from apps.scheduler.outgoing.rules import DestinationRefused

#: Seconds from connecting to the end of the answer.
TIMEOUT_SECONDS = 5.0
#: Bytes of the response that are kept.
_MAX_ANSWER = 1000
#: Waiting times between attempts; then the delivery fails.
BACKOFF = tuple(timedelta(seconds=each) for each in (10, 30, 90, 300, 900, 3600))

_NO_SECRET: Final = "the site no longer has the key of the webhook's secret: replace the secret"


def send(number: int) -> None:
    """Make one attempt, and record how it ended."""
    rows = WebhookDelivery.objects.select_related("webhook", "cluster")
    delivery = rows.filter(pk=number, state=WebhookDelivery.State.WAITING).first()
    if delivery is None:
        return
    started = time.monotonic()
    delivery.attempts += 1
    delivery.status_code = None
    try:
        delivery.status_code, delivery.answer = _post(delivery)
    except (OSError, http.client.HTTPException, DestinationRefused, ValueError) as error:
        delivery.answer = describe_failure(error)
    # the database does not store it
    delivery.answer = delivery.answer.replace("\0", "\ufffd")
    delivery.duration_ms = int(1000 * (time.monotonic() - started))
    _record(delivery)


def sign(secret: str, stamp: str, body: bytes) -> str:
    """The value of the header X-Schedweb-Signature: HMAC-SHA256 of `stamp.body`."""
    digest = hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    return f"sha256={digest}"


def _post(delivery: WebhookDelivery) -> tuple[int, str]:
    """The status code and the start of the response. Redirects are not followed."""
    if not delivery.webhook.secret:
        raise ValueError(
            "the site no longer has the key of the webhook's secret: replace the secret"
        )
    url = urlsplit(delivery.webhook.url)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    connection = _connect(url, deadline)
    try:
        path = f"{url.path or '/'}{f'?{url.query}' if url.query else ''}"
        body = _body(delivery)
        connection.request("POST", path, body, _headers(delivery, body))
        response = connection.getresponse()
        return response.status, response.read(_MAX_ANSWER).decode(errors="replace")
    finally:
        connection.close()


def _connect(url: SplitResult, deadline: float) -> http.client.HTTPConnection:
    """A connection to an address that was checked: another look-up could have another result."""
    secure = url.scheme == "https"
    host, port = url.hostname or "", url.port or (443 if secure else 80)
    sock = connect(host, port, rules=settings.OUTGOING, deadline=deadline)
    connection = http.client.HTTPConnection(host, port)
    context = ssl.create_default_context() if secure else None
    connection.sock = secured(sock, context, host, deadline)
    return connection


def _body(delivery: WebhookDelivery) -> bytes:
    content = {
        "delivery": str(delivery.uid),
        "cluster": delivery.cluster.name,
        "events": delivery.events,
    }
    return json.dumps(content, separators=(",", ":")).encode()


def _headers(delivery: WebhookDelivery, body: bytes) -> dict[str, str]:
    stamp = str(int(time.time()))
    return {
        "Content-Type": "application/json",
        "User-Agent": "schedweb",
        "X-Schedweb-Delivery": str(delivery.uid),
        "X-Schedweb-Timestamp": stamp,
        "X-Schedweb-Signature": sign(delivery.webhook.secret, stamp, body),
    }


def _record(delivery: WebhookDelivery) -> None:
    """Finish a delivery that was accepted (2xx) or has no attempts left; else wait longer."""
    now = timezone.now()
    if delivery.status_code is not None and 200 <= delivery.status_code < 300:
        delivery.state, delivery.finished_at = WebhookDelivery.State.SUCCEEDED, now
    elif delivery.attempts > len(BACKOFF):
        delivery.state, delivery.finished_at = WebhookDelivery.State.FAILED, now
    else:
        delivery.next_at = now + BACKOFF[delivery.attempts - 1]
    fields = ("attempts", "status_code", "answer", "duration_ms", "state", "finished_at", "next_at")
    # it may have been deleted in the meantime
    rows = WebhookDelivery.objects.filter(pk=delivery.pk)
    rows.update(**{name: getattr(delivery, name) for name in fields})

"""Posts one delivery: signed, with limits on time, size and destination."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import json
import socket
import ssl
import time
from datetime import timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.utils import timezone

from apps.controlplane.models import WebhookDelivery

#: Seconds for connecting, and for each read.
TIMEOUT_SECONDS = 5.0
#: Bytes of the response that are kept.
_MAX_ANSWER = 1000
#: Waiting times between attempts; then the delivery fails.
BACKOFF = tuple(timedelta(seconds=each) for each in (10, 30, 90, 300, 900, 3600))


class RefusedAddress(Exception):
    """The host of the webhook is one that the site does not send requests to."""


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
    except (OSError, http.client.HTTPException, RefusedAddress, ValueError) as error:
        delivery.answer = f"{type(error).__name__}: {error}"
    delivery.duration_ms = int(1000 * (time.monotonic() - started))
    _record(delivery)


def sign(secret: str, stamp: str, body: bytes) -> str:
    """The value of the header X-Schedweb-Signature: HMAC-SHA256 of `stamp.body`."""
    digest = hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    return f"sha256={digest}"


def resolve(host: str, port: int) -> tuple[str, int]:
    """An address of the host; RefusedAddress for this machine and its link unless allowed."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(each[4][0]).partition("%")[0] for each in found]
    for text in addresses:
        address = ipaddress.ip_address(text)
        address = getattr(address, "ipv4_mapped", None) or address
        local = address.is_loopback or address.is_link_local or address.is_unspecified
        if (local and not settings.WEBHOOKS_LOCAL) or address.is_multicast:
            raise RefusedAddress(
                f"{host} is {address}: webhooks are not sent to loopback or link-local addresses "
                "(SCHEDWEB_WEBHOOKS_LOCAL=1 allows it)"
            )
    return addresses[0], port


def _post(delivery: WebhookDelivery) -> tuple[int, str]:
    """The status code and the start of the response. Redirects are not followed."""
    url = urlsplit(delivery.webhook.url)
    secure = url.scheme == "https"
    host, port = url.hostname or "", url.port or (443 if secure else 80)
    # connects to the address that was checked: a second look-up could have another result
    raw = socket.create_connection(resolve(host, port), timeout=TIMEOUT_SECONDS)
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
    try:
        context = ssl.create_default_context() if secure else None
        connection.sock = context.wrap_socket(raw, server_hostname=host) if context else raw
        path = f"{url.path or '/'}{f'?{url.query}' if url.query else ''}"
        body = _body(delivery)
        connection.request("POST", path, body, _headers(delivery, body))
        response = connection.getresponse()
        return response.status, response.read(_MAX_ANSWER).decode(errors="replace")
    finally:
        raw.close()
        connection.close()


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
    delivery.save()

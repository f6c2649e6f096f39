"""Webhooks: events are collected, posted with a signature, and retried."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from apps.administration.clusters import lifecycle
from apps.administration.webhooks import collecting, sending, service
from apps.cluster.models import Cluster
from apps.engine.loop.engines import Engines
from apps.engine.models import Operation, SecondOpinion, Webhook, WebhookDelivery
from apps.scheduler.outgoing.rules import OutgoingRules
from tests.dashboard.conftest import add_pods, pod

pytestmark = pytest.mark.django_db


@dataclass
class Receiver:
    """An address that answers with `status`, and what it received."""

    url: str = ""
    status: int = 204
    text: bytes = b"x" * 5000
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            found.received.append((dict(self.headers), self.rfile.read(length)))
            self.send_response(found.status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            if found.status != 204:
                self.wfile.write(found.text)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}/hook?from=schedweb"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def lab(db: None) -> Cluster:
    return lifecycle.create_cluster("hooked", user="alice", nodes=2, tie_break="first-name")


def work() -> None:
    """What beat and a worker do."""
    collecting.collect()
    for number in collecting.claim_due():
        sending.send(number)


def events(receiver: Receiver) -> list[dict[str, Any]]:
    return [event for _, body in receiver.received for event in json.loads(body)["events"]]


def add_disagreement(cluster: Cluster, name: str, at: datetime) -> None:
    version = SecondOpinion.objects.count() + 1
    SecondOpinion.objects.create(
        cluster=cluster,
        version=version,
        at=at,
        recorded_at=at,
        pod_uid=uuid4(),
        namespace="default",
        name=name,
        profile_revision=1,
        scheduler_name="default-scheduler",
        verdict=SecondOpinion.Verdict.OTHER_NODE,
        guest_node="node-0",
        node="node-1",
        nodes=2,
        feasible_nodes=2,
        tied_nodes=1,
    )


def is_signed(secret: str, headers: dict[str, str], body: bytes) -> bool:
    signed = f"{headers['X-Schedweb-Timestamp']}.".encode() + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return headers["X-Schedweb-Signature"] == f"sha256={expected}"


@pytest.mark.django_db(transaction=True)
def test_chosen_events_are_posted_with_a_signature(lab: Cluster, receiver: Receiver) -> None:
    add_pods(lab, pod("before", cpu="100"))
    Engines().run(lab.pk)
    kinds = ["pod.unschedulable", "operation.ended", "cluster.paused"]
    hook = service.add_webhook(lab, receiver.url, kinds, user="alice")
    work()
    assert receiver.received == [], "only events after it was added are sent"
    add_pods(lab, pod("web"), pod("huge", cpu="100"))
    Engines().run(lab.pk)
    ended = timezone.now() - timedelta(seconds=2)
    Webhook.objects.filter(pk=hook.pk).update(collected_at=ended - timedelta(seconds=1))
    Operation.objects.create(
        kind="export", title="Export", cluster=lab, state="failed", cause="disk", finished_at=ended
    )
    lifecycle.pause(lab)
    work()
    found = events(receiver)
    assert [event["kind"] for event in found] == kinds
    assert found[0]["pod"] == "default/huge" and "Insufficient cpu" in found[0]["message"]
    assert (found[1]["state"], found[1]["message"]) == ("failed", "disk")
    assert is_signed(hook.secret, *receiver.received[0])
    work()
    assert len(receiver.received) == 1, "each event is sent once"
    delivery = WebhookDelivery.objects.get()
    assert (delivery.state, delivery.status_code, delivery.attempts) == ("succeeded", 204, 1)


def test_a_failed_delivery_is_retried_in_order_and_given_up(
    lab: Cluster, receiver: Receiver
) -> None:
    receiver.status = 302
    hook = service.add_webhook(lab, receiver.url, ["pod.scheduled"], user="alice")
    first, second = service.send_test(hook), service.send_test(hook)
    work()
    work()
    first.refresh_from_db()
    assert (first.state, first.attempts, first.status_code) == ("waiting", 1, 302)
    assert len(first.answer) == 1000, "the log has the start of the answer"
    assert first.next_at > timezone.now() + timedelta(seconds=8)
    assert len(receiver.received) == 1, "the second one waits for the first, redirects are ignored"
    for _ in sending.BACKOFF:
        WebhookDelivery.objects.filter(pk=first.pk).update(next_at=timezone.now())
        work()
    first.refresh_from_db()
    assert (first.state, first.attempts) == ("failed", 1 + len(sending.BACKOFF))
    receiver.status = 200
    work()
    second.refresh_from_db()
    assert second.state == "succeeded"
    WebhookDelivery.objects.update(finished_at=timezone.now() - timedelta(days=8))
    collecting.forget_old()
    assert not WebhookDelivery.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_address_that_never_answers_does_not_fill_the_database(
    lab: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "MAX_WAITING", 2)
    monkeypatch.setattr(collecting, "MAX_KEPT", 4)
    hook = service.add_webhook(lab, "http://x.invalid/", ["pod.unschedulable"], user="alice")
    for number in range(5):
        add_pods(lab, pod(f"huge-{number}", cpu="100"))
        Engines().run(lab.pk)
        collecting.collect()
    states = service.deliveries_of(hook).values_list("state", flat=True)
    assert list(states) == ["waiting", "waiting", "failed", "failed", "failed"]
    assert "2 newer deliveries wait" in service.deliveries_of(hook)[2].answer
    collecting.forget_old()
    assert service.deliveries_of(hook).count() == 4


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "0.0.0.0"])
def test_a_shared_site_sends_nothing_to_its_machine_and_its_link(
    lab: Cluster, settings: Any, host: str
) -> None:
    settings.OUTGOING = OutgoingRules(internal=False)
    hook = service.add_webhook(lab, f"http://{host}:9/x", ["pod.scheduled"], user="alice")
    sending.send(service.send_test(hook).pk)
    assert "this site does not send requests" in WebhookDelivery.objects.get().answer


def test_an_answer_that_never_ends_is_a_failure_after_the_timeout(
    lab: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One byte at a time: each read succeeds, so that only a limit for the whole helps."""
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_drip, args=(server,), daemon=True).start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        hook = service.add_webhook(lab, address, ["pod.scheduled"], user="alice")
        sending.send(service.send_test(hook).pk)
    delivery = WebhookDelivery.objects.get()
    assert delivery.answer == "the server did not respond in time"
    assert delivery.duration_ms is not None and delivery.duration_ms < 5000


def _drip(server: socket.socket) -> None:
    """Send a header that does not end, until the client closes the connection."""
    client, _ = server.accept()
    with client, suppress(OSError):
        client.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
        for _ in range(200):
            client.sendall(b"x")
            time.sleep(0.05)


def test_an_answer_may_contain_bytes_that_are_no_text(lab: Cluster, receiver: Receiver) -> None:
    receiver.status, receiver.text = 200, b"a\0b\xff"
    hook = service.add_webhook(lab, receiver.url, ["pod.scheduled"], user="alice")
    service.send_test(hook)
    work()
    delivery = WebhookDelivery.objects.get()
    assert (delivery.state, delivery.answer) == ("succeeded", "a\ufffdb\ufffd")


def test_a_webhook_that_is_deleted_while_it_is_sent_does_not_come_back(
    lab: Cluster, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = service.add_webhook(lab, receiver.url, ["pod.scheduled"], user="alice")
    service.send_test(hook)
    collecting.collect()
    (number,) = collecting.claim_due()
    connect = sending.connect

    def delete_and_connect(*arguments: Any, **options: Any) -> socket.socket:
        service.delete_webhook(hook)
        return connect(*arguments, **options)

    monkeypatch.setattr(sending, "connect", delete_and_connect)
    sending.send(number)
    assert len(receiver.received) == 1
    assert not WebhookDelivery.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_new_kind_of_events_is_sent_from_now_on(lab: Cluster, receiver: Receiver) -> None:
    hook = service.add_webhook(lab, receiver.url, ["cluster.paused"], user="alice")
    add_pods(lab, pod("before"))
    Engines().run(lab.pk)
    long_ago = timezone.now() - timedelta(hours=1)
    Operation.objects.create(
        kind="export", title="Before", cluster=lab, state="succeeded", finished_at=long_ago
    )
    Webhook.objects.update(collected_at=long_ago - timedelta(hours=1))
    lifecycle.pause(lab)
    service.change_webhook(hook, kinds=["cluster.resumed", "pod.scheduled", "operation.ended"])
    work()
    assert [event["kind"] for event in events(receiver)] == ["cluster.paused"], "chosen until now"
    lifecycle.resume(lab)
    add_pods(lab, pod("after"))
    Engines().run(lab.pk)
    receiver.received.clear()
    work()
    assert [(each["kind"], each.get("pod")) for each in events(receiver)] == [
        ("pod.scheduled", "default/after"),
        ("cluster.resumed", None),
    ]


def test_a_disabled_webhook_is_sent_nothing_but_tests(lab: Cluster, receiver: Receiver) -> None:
    hook = service.add_webhook(lab, receiver.url, ["cluster.paused"], user="alice")
    lifecycle.pause(lab)
    receiver.status = 500
    work()
    receiver.status = 204
    service.set_enabled(hook, False)
    service.retry(hook)
    service.send_test(hook)
    receiver.received.clear()
    work()
    assert [event["kind"] for event in events(receiver)] == ["test"]
    service.set_enabled(hook, True)
    work()
    assert [event["kind"] for event in events(receiver)] == ["test", "cluster.paused"]


def test_disagreements_that_are_recorded_at_once_are_all_sent(
    lab: Cluster, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.administration.webhooks.event_kinds._MAX_OPINIONS", 3)
    hook = service.add_webhook(lab, receiver.url, ["binding.disagreed"], user="alice")
    now = timezone.now()
    Webhook.objects.filter(pk=hook.pk).update(collected_at=now - timedelta(hours=1))
    # two batches of a loop, each with one time
    for number in range(8):
        at = now - timedelta(minutes=2 - number // 5)
        add_disagreement(lab, f"web-{number}", at)
    work()
    work()
    work()
    names = [event["pod"] for event in events(receiver)]
    assert names == [f"default/web-{number}" for number in range(8)]


def test_an_address_that_does_not_exist_is_an_error_in_the_log(lab: Cluster) -> None:
    hook = service.add_webhook(lab, "http://no-such-host.invalid/", ["pod.scheduled"], user="a")
    sending.send(service.send_test(hook).pk)
    assert "host name cannot be resolved" in WebhookDelivery.objects.get().answer


def test_a_refused_connection_is_described_in_plain_words(lab: Cluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    hook = service.add_webhook(lab, f"http://127.0.0.1:{port}/", ["pod.scheduled"], user="a")
    sending.send(service.send_test(hook).pk)
    expected = "connection refused: no server listens at this address and port"
    assert WebhookDelivery.objects.get().answer == expected


@pytest.mark.django_db(transaction=True)
def test_webhooks_are_managed_on_pages(lab: Cluster, client: Client, receiver: Receiver) -> None:
    client.force_login(User.objects.create_superuser("alice"))
    page = "/clusters/hooked/webhooks"
    wrong = client.post(page, {"url": "ftp://x"})
    text = wrong.content.decode()
    assert wrong.status_code == 422 and "Choose at least one kind" in text
    assert "&#x27;ftp://x&#x27; is not an http or https URL" in text
    added = client.post(page, {"url": receiver.url, "kinds": ["pod.scheduled", "pod.preempted"]})
    hook = Webhook.objects.get()
    assert hook.secret and hook.secret in added.content.decode(), "shown once"
    assert added.headers["Cache-Control"] == "no-store"
    assert hook.secret not in client.get(f"{page}/{hook.pk}").content.decode()
    replaced = client.post(f"{page}/{hook.pk}/change", {"action": "secret"}).content.decode()
    assert hook.secret not in replaced and Webhook.objects.get().secret in replaced
    client.post(f"{page}/{hook.pk}/change", {"action": "test"})
    work()
    assert events(receiver)[0]["kind"] == "test"
    assert "204" in client.get(f"{page}/{hook.pk}").content.decode()
    assert "Send failed again" not in client.get(f"{page}/{hook.pk}").content.decode()
    assert "failing" not in client.get(page).content.decode()
    receiver.status = 500
    client.post(f"{page}/{hook.pk}/change", {"action": "test"})
    work()
    assert "enabled, failing" in client.get(page).content.decode()
    receiver.status = 204
    work()
    assert len(receiver.received) == 2, "the next attempt is not due"
    assert "Send failed again" in client.get(f"{page}/{hook.pk}").content.decode()
    client.post(f"{page}/{hook.pk}/change", {"action": "retry"})
    work()
    assert len(receiver.received) == 3
    assert not WebhookDelivery.objects.exclude(state="succeeded").exists()
    receiver.received = receiver.received[:1]
    client.post(f"{page}/{hook.pk}/change", {"action": "disable"})
    add_pods(lab, pod("web"))
    Engines().run(lab.pk)
    client.post(f"{page}/{hook.pk}/change", {"action": "enable"})
    work()
    assert len(receiver.received) == 1, "events while it was disabled are not sent"
    changed = {"action": "change", "url": "https://elsewhere.example.com/"}
    refused = client.post(f"{page}/{hook.pk}/change", changed)
    assert refused.status_code == 422 and "Choose at least one kind" in refused.content.decode()
    client.post(f"{page}/{hook.pk}/change", {**changed, "kinds": ["pod.unschedulable"]})
    hook.refresh_from_db()
    assert (hook.url, hook.kinds) == ("https://elsewhere.example.com/", ["pod.unschedulable"])
    client.post(f"{page}/{hook.pk}/change", {"action": "delete"})
    assert not Webhook.objects.exists()


def test_webhooks_are_managed_with_rest(lab: Cluster, client: Client, receiver: Receiver) -> None:
    address = "/api/v1/clusters/hooked/webhooks"
    assert client.get(address).status_code == 401
    client.force_login(User.objects.create_superuser("alice"))
    wanted = {"url": "nowhere", "kinds": ["pod.unknown"]}
    wrong = client.post(address, wanted, content_type="application/json")
    assert wrong.status_code == 422 and "'pod.unknown' is not one of" in wrong.content.decode()
    wanted = {"url": receiver.url, "kinds": ["pod.scheduled"], "secret": "s"}
    added = client.post(address, wanted, content_type="application/json").json()
    one = f"{address}/{added['id']}"
    assert added["secret"] == "s" and "secret" not in client.get(one).json()
    assert [each["url"] for each in client.get(address).json()] == [receiver.url]
    assert client.post(f"{one}/test").status_code == 202
    work()
    assert client.get(f"{one}/deliveries").json()[0]["state"] == "succeeded"
    receiver.status = 500
    client.post(f"{one}/test")
    work()
    receiver.status = 204
    assert client.post(f"{one}/retry").json() == {"deliveries": 1}
    replaced = client.post(f"{one}/secret")
    assert replaced.headers["Cache-Control"] == "no-store" and replaced.json()["secret"] != "s"
    work()
    assert client.get(f"{one}/deliveries").json()[0]["state"] == "succeeded"
    assert is_signed(replaced.json()["secret"], *receiver.received[-1])
    wrong = client.patch(one, {"url": "x", "kinds": []}, content_type="application/json")
    assert [cause["field"] for cause in wrong.json()["causes"]] == ["url", "kinds"]
    changed = {"kinds": ["pod.preempted"]}
    changed = client.patch(one, changed, content_type="application/json").json()
    assert (changed["url"], changed["kinds"]) == (receiver.url, ["pod.preempted"])
    off = client.patch(one, {"enabled": False}, content_type="application/json").json()
    assert off["enabled"] is False
    assert client.delete(one).status_code == 204 and client.get(one).status_code == 404


def test_webhooks_are_deleted_with_their_cluster(lab: Cluster) -> None:
    service.send_test(service.add_webhook(lab, "http://x.invalid/", ["pod.scheduled"], user="a"))
    lifecycle.delete_cluster(lab)
    assert not WebhookDelivery.objects.exists() and not Webhook.objects.exists()

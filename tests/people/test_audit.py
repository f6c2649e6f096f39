"""The audit log: what is recorded, that it stays, how it is found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone

from apps.administration import auditing
from apps.administration.clusters import lifecycle, settings
from apps.engine.profiles import revisions
from apps.people.audit import invalid_tokens
from apps.people.audit.invalid_tokens import MOST_ADDRESSES, OTHERS
from apps.people.audit.recording import record
from apps.people.audit.refused_requests import MOST_OF_A_USER, recent
from apps.people.models import AccessToken, AuditEntry
from apps.people.tokens import create_token
from tests.api.control.conftest import Api

pytestmark = pytest.mark.django_db

Action = AuditEntry.Action


@pytest.fixture(autouse=True)
def nothing_recorded_yet() -> Iterator[None]:
    recent.clear()
    invalid_tokens.counts.clear()
    yield


@pytest.fixture
def admin(db: None) -> Api:
    user = User.objects.create_superuser("admin", password="of the site")
    return Api(create_token(user, "test").key)


def entries(**conditions: Any) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(**conditions).order_by("id"))


def test_sign_ins_failures_and_sign_outs_are_recorded(client: Client) -> None:
    User.objects.create_user("alice", password="of wonderland")
    for name, password in [("alice", "wrong"), ("s3cret", "alice"), ("alice", "of wonderland")]:
        client.post("/login", {"username": name, "password": password}, REMOTE_ADDR="192.0.2.7")
    client.post("/logout", headers={"X-Request-ID": "request-9"})
    found = entries()
    assert [(each.action, each.user) for each in found] == [
        ("sign-in-failed", "alice"),
        ("sign-in-failed", ""),
        ("signed-in", "alice"),
        ("signed-out", "alice"),
    ]
    assert found[0].address == "192.0.2.7" and found[-1].request_id == "request-9"
    # a password that was entered as a name
    assert "s3cret" not in str([vars(each) for each in found])


def test_changes_of_clusters_and_tokens_are_recorded_with_the_token(admin: Api) -> None:
    admin.post("/clusters", {"name": "lab"})
    admin.patch("/clusters/lab", {"event_ttl_seconds": 60})
    admin.post("/clusters/lab/profiles/1/activate")
    admin.post("/clusters/lab/pause")
    admin.post("/clusters/lab/resume")
    admin.get("/clusters/lab/export")
    admin.delete("/clusters/lab")
    admin.post("/tokens", {"name": "ci"})
    found = entries(token="test", user="admin", address="127.0.0.1")
    assert [each.action for each in found] == [
        "cluster-created",
        "settings-changed",
        "configuration-activated",
        "cluster-paused",
        "cluster-resumed",
        "exported",
        "cluster-deleted",
        "token-created",
    ]
    assert found[1].details == {"event_ttl_seconds": [3600, 60]}
    assert {each.cluster for each in found[:-1]} == {"lab"} and found[-1].target == "ci of admin"


def test_a_refused_request_is_recorded_once_a_minute(client: Client) -> None:
    client.force_login(User.objects.create_user("bob"))
    for _ in range(3):
        assert client.get("/audit").status_code == 403
    assert client.get("/api/v1/audit").status_code == 403
    refused = entries(action=Action.REFUSED)
    assert [(e.user, e.target) for e in refused] == [
        ("bob", "GET /audit"),
        ("bob", "GET /api/v1/audit"),
    ]
    assert Client().get("/api/v1/audit").status_code == 401
    assert len(entries(action=Action.REFUSED)) == 2


def test_a_user_cannot_fill_the_audit_log_with_refusals(client: Client) -> None:
    client.force_login(User.objects.create_user("bob"))
    for number in range(MOST_OF_A_USER + 5):
        assert client.get(f"/users/{number}").status_code == 403
    assert len(entries(action=Action.REFUSED, user="bob")) == MOST_OF_A_USER


def test_invalid_tokens_are_recorded_by_address_and_minute(
    admin: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    expired = create_token(User.objects.get(), "old")
    AccessToken.objects.filter(name="old").update(expiry=timezone.now())

    def ask(key: str, address: str) -> None:
        response = Client().get(
            "/api/v1/clusters",
            headers={"Authorization": f"Bearer {key}"},
            REMOTE_ADDR=address,
        )
        assert response.status_code == 401

    for key in (expired.key, "secret-guess", "another"):
        ask(key, "192.0.2.7")
    ask("secret-guess", "192.0.2.8")
    refused = entries(action=Action.TOKEN_REFUSED)
    assert [(each.address, each.target, each.details["reason"]) for each in refused] == [
        ("192.0.2.7", "GET /api/v1/clusters", "the token 'old' has expired"),
        ("192.0.2.8", "GET /api/v1/clusters", "the token is unknown"),
    ]
    monkeypatch.setattr(invalid_tokens, "PERIOD_SECONDS", 0.0)
    listed = admin.get("/audit?action=token-refused").json()["results"]
    assert listed[0]["address"] == "192.0.2.8"
    last = entries(action=Action.TOKEN_REFUSED)[-1]
    assert (last.address, last.details["requests"]) == ("192.0.2.7", 2)
    assert "secret-guess" not in str([vars(each) for each in entries()])


def test_addresses_beyond_a_limit_are_counted_together(db: None) -> None:
    for number in range(MOST_ADDRESSES + 50):
        invalid_tokens.record_invalid_token(f"2001:db8::{number}", "Bearer guess", "GET", "/")
    invalid_tokens.record_invalid_token("192.0.2.1", "Basic guess", "GET", "/")
    found = entries(action=Action.TOKEN_REFUSED)
    assert len(found) == MOST_ADDRESSES + 1 and found[-1].address == OTHERS


@pytest.mark.parametrize("change", ["UPDATE people_auditentry SET action = ''", "DELETE FROM {0}"])
def test_the_database_refuses_to_change_entries(change: str) -> None:
    record(Action.SIGNED_IN, user="alice")
    with pytest.raises(DatabaseError, match="refused"), transaction.atomic():
        connection.cursor().execute(change.format("people_auditentry"))
    assert len(entries()) == 1


def test_entries_are_found_by_filters_and_exported(admin: Api) -> None:
    for name, address in [("alice", "a"), ("bob", "b")]:
        record(Action.USER_CREATED, user="admin", target=name, details={"=1": address})
    listed = admin.get("/audit?action=user-created&q=ALI&since=1h").json()["results"]
    assert [each["target"] for each in listed] == ["alice"]
    assert admin.get("/audit?until=2020-01-01").json()["results"] == []
    for wrong in ("action=dance", "user=%00", "since=soon", "verb=get"):
        assert admin.get(f"/audit?{wrong}").status_code == 400
    lines = b"".join(admin.get("/audit/export?user=admin&action=user-created").streaming_content)
    assert lines.decode().splitlines()[0].startswith("id,time,user,action,target")
    assert len(lines.splitlines()) == 3
    # the export is recorded as well
    assert entries(action=Action.EXPORTED)[0].target.startswith("/api/v1/audit/export?user=admin")


def test_the_page_shows_entries_and_names_a_wrong_filter(client: Client) -> None:
    client.force_login(User.objects.create_superuser("admin"))
    record(Action.ROLE_CHANGED, user="<b>", cluster="lab", target="bob", details={"role": "viewer"})
    limits = {"clusters": ["lab", "old"], "read_only": True, "expires_at": None}
    record(Action.TOKEN_CREATED, user="bob", target="ci of bob", details=limits)
    record(Action.SETTINGS_CHANGED, user="bob", details={"event_ttl_seconds": [3600, 60]})
    page = client.get("/audit?since=1h").content.decode()
    assert "role changed" in page and "role: viewer" in page and "&lt;b&gt;" in page
    assert "clusters: lab, old; read only" in page and "event ttl seconds: 3600 → 60" in page
    assert "No entries match" in client.get("/audit?user=nobody").content.decode()
    wrong = client.get("/audit?action=dance")
    assert wrong.status_code == 422 and "is not an action" in wrong.content.decode()


def test_what_a_command_does_is_recorded_as_such(db: None) -> None:
    cluster = lifecycle.create_cluster("lab", user="command line")
    settings.change_settings(cluster, {"kubelet": False})
    revisions.activate(cluster, 1)
    assert [(e.user, e.action) for e in entries()] == [
        ("command line", "cluster-created"),
        ("", "settings-changed"),
        ("", "configuration-activated"),
    ]


@pytest.mark.django_db(transaction=True)
def test_expired_days_are_dropped(settings: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_char(now() AT TIME ZONE 'UTC' - interval '9 days', 'YYMMDD')")
        day = cursor.fetchone()[0]
        cursor.execute(
            f"CREATE TABLE people_auditentry_{day} PARTITION OF people_auditentry "
            f"FOR VALUES FROM ({day}000000000) TO ({int(day) + 1}000000000)"
        )
    AuditEntry.objects.create(id=int(day) * 10**9, action=Action.SIGNED_IN)
    record(Action.SIGNED_IN, user="alice")
    settings.AUDIT_MAX_DAYS = 0
    auditing.delete_expired()
    assert len(entries()) == 2
    settings.AUDIT_MAX_DAYS = 7
    auditing.delete_expired()
    assert [each.user for each in entries()] == ["alice"]

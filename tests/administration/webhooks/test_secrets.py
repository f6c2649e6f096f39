"""The secrets of webhooks are encrypted in the database, with keys that can be replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.webhooks import sending, service
from apps.cluster import kinds, service_tokens
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.models import Webhook, WebhookDelivery
from schedweb.datafolder import rotate_secret_key, secret_key

pytestmark = pytest.mark.django_db

URL = "http://127.0.0.1:9/"
NEW = "another key, as long as the first one, so that nobody warns"


@pytest.fixture
def lab() -> Cluster:
    return create_cluster("lab", user="alice", nodes=1)


@pytest.fixture
def hook(lab: Cluster) -> Webhook:
    return service.add_webhook(lab, URL, ["pod.scheduled"], user="alice", secret="plain words")


def stored(hook: Webhook) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM controlplane_webhook WHERE id = %s", [hook.pk])
        return str(cursor.fetchone()[0])


def read(hook: Webhook) -> str:
    return Webhook.objects.get(pk=hook.pk).secret


def test_the_database_does_not_have_the_secret(hook: Webhook) -> None:
    assert "plain words" not in stored(hook)
    assert read(hook) == "plain words"


def test_a_start_with_a_new_key_encrypts_anew_and_the_old_key_can_go(
    hook: Webhook, settings: Any
) -> None:
    old = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [old]
    before = stored(hook)
    assert read(hook) == "plain words"

    service.encrypt_anew()
    settings.SECRET_KEY_FALLBACKS = []

    assert stored(hook) != before
    assert read(hook) == "plain words"


def test_without_its_key_a_webhook_says_what_to_do(hook: Webhook, settings: Any) -> None:
    delivery = service.send_test(hook)
    settings.SECRET_KEY = NEW
    service.encrypt_anew()

    sending.send(delivery.pk)

    answer = WebhookDelivery.objects.get(pk=delivery.pk).answer
    assert answer == "the site no longer has the key of the webhook's secret: replace the secret"
    hook.refresh_from_db()
    service.replace_secret(hook, "new words")
    assert read(hook) == "new words"


def test_tokens_of_service_accounts_outlive_a_rotation_by_one_key(
    lab: Cluster, settings: Any
) -> None:
    named = {"metadata": {"name": "robot", "namespace": "default"}}
    kind = kinds.by_name("ServiceAccount")
    account = store.create(lab, kind, named, actor=Actor("alice"), namespace="default")
    token = service_tokens.issue(lab, account, seconds=600).text
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [settings.SECRET_KEY]
    assert service_tokens.verify(lab, token).username == "system:serviceaccount:default:robot"
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(service_tokens.InvalidToken, match="Signature verification failed"):
        service_tokens.verify(lab, token)


def test_rotate_key_keeps_the_newest_key_and_drops_older_ones(tmp_path: Path) -> None:
    first = secret_key(tmp_path)
    rotate_secret_key(tmp_path)
    second, kept = secret_key(tmp_path).splitlines()
    assert kept == first != second
    rotate_secret_key(tmp_path)
    assert secret_key(tmp_path).splitlines()[1:] == [second]
    assert (tmp_path / "secret-key").stat().st_mode & 0o777 == 0o600


def test_rotate_key_names_the_setting_that_has_the_key() -> None:
    with pytest.raises(CommandError, match="SCHEDWEB_SECRET_KEY_FILE"):
        call_command("rotate_key")

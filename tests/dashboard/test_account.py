"""The account: theme, time zone, token, kubeconfig, password; the help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.authtoken.models import Token

from apps.cluster.models import Cluster

pytestmark = pytest.mark.django_db


def test_the_menu_sets_the_theme_of_every_page(alice: Client) -> None:
    assert 'media="(prefers-color-scheme: dark)"' in alice.get("/").content.decode()
    answer = alice.post("/account/theme", {"theme": "dark", "next": "/operations"})
    assert answer.headers["Location"] == "/operations"
    assert 'media="all"' in alice.get("/").content.decode()
    alice.post("/account/theme", {"theme": "pink", "next": "//elsewhere"})
    page = alice.get("/account").content.decode()
    assert 'media="all"' in page and '<option value="dark" selected>' in page


def test_the_time_zone_is_an_iana_name(alice: Client) -> None:
    wrong = alice.post("/account", {"theme": "light", "zone": "Mars/Olympus"})
    assert wrong.status_code == 422
    assert "is not the name of a time zone" in wrong.content.decode()
    assert "schedweb-zone" not in alice.cookies
    alice.post("/account", {"theme": "light", "zone": "europe/berlin"})
    assert alice.cookies["schedweb-zone"].value == "Europe/Berlin"
    assert "Time zone: Europe/Berlin" in alice.get("/").content.decode()
    alice.cookies["schedweb-zone"] = "../../etc/passwd"
    assert "Time zone: UTC" in alice.get("/").content.decode()
    alice.post("/account", {"theme": "auto", "zone": ""})
    assert alice.cookies["schedweb-zone"].value == ""


def test_the_token_is_created_replaced_and_deleted(alice: Client) -> None:
    assert "You have no token yet" in alice.get("/account").content.decode()
    alice.post("/account/token", {"action": "create"})
    first = Token.objects.get(user__username="alice").key
    assert first in alice.get("/account").content.decode()
    alice.post("/account/token", {"action": "create"})
    second = Token.objects.get(user__username="alice").key
    assert first != second
    headers = {"Authorization": f"Bearer {second}"}
    assert Client(headers=headers).get("/api/v1/clusters").status_code == 200
    alice.post("/account/token", {"action": "delete"})
    assert Client(headers=headers).get("/api/v1/clusters").status_code == 401


def test_the_kubeconfig_is_a_file_of_the_user(
    alice: Client, lab: Cluster, settings: Any, tmp_path: Path
) -> None:
    settings.TLS_AUTHORITY_FILE = tmp_path / "authority.pem"
    assert alice.get("/clusters/lab/kubeconfig").status_code == 503
    settings.TLS_AUTHORITY_FILE.write_text("an authority")
    answer = alice.get("/clusters/lab/kubeconfig")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="lab.kubeconfig"'
    config = yaml.safe_load(answer.content)
    token = config["users"][0]["user"]["token"]
    assert token == Token.objects.get(user__username="alice").key
    assert config["clusters"][0]["cluster"]["server"].endswith("/k8s/lab")
    assert "Kubeconfig of lab" in alice.get("/clusters/lab").content.decode()


def test_the_password_is_changed(alice: Client) -> None:
    wrong = {
        "old_password": "of wonderland",
        "new_password1": "short",
        "new_password2": "other",
    }
    answer = alice.post("/account/password", wrong)
    assert answer.status_code == 422 and "id_new_password2_error" in answer.content.decode()
    right = wrong | dict.fromkeys(("new_password1", "new_password2"), "through the glass")
    said = alice.post("/account/password", right, follow=True).content.decode()
    assert "Password changed." in said
    assert User.objects.get(username="alice").check_password("through the glass")


def test_the_help_lists_a_key_for_every_section(alice: Client, lab: Cluster) -> None:
    page = alice.get("/clusters/lab").content.decode()
    sections = page[page.index('class="sections"') : page.index("<main")]
    listed = alice.get("/help").content.decode()
    keys = [part[0] for part in sections.split('data-go="')[1:]]
    assert len(keys) == len(set(keys)) == 10
    assert all(f"<kbd>g</kbd> <kbd>{key}</kbd>" in listed for key in keys)

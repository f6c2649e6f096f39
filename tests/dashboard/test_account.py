"""The account: theme, time zone, tokens, kubeconfig, password; the help."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client

from apps.cluster.access.scopes import TokenScope, token_scope_of
from apps.cluster.models import Cluster
from apps.people.authentication import authenticate
from apps.people.models import AccessToken

pytestmark = pytest.mark.django_db


def test_the_menu_sets_the_theme_of_every_page(alice: Client) -> None:
    assert 'media="(prefers-color-scheme: dark)"' in alice.get("/").content.decode()
    answer = alice.post("/account/theme", {"theme": "dark", "next": "/operations"})
    assert answer.headers["Location"] == "/operations"
    assert 'media="all"' in alice.get("/").content.decode()
    alice.post("/account/theme", {"theme": "pink", "next": "//elsewhere"})
    page = alice.get("/account").content.decode()
    assert 'media="all"' in page and '<option value="dark" selected>' in page


def test_shortcuts_of_one_character_can_be_switched_off(alice: Client) -> None:
    assert 'data-keys="on"' in alice.get("/").content.decode()
    alice.post("/account", {"theme": "light", "zone": "", "keys": "off"})
    page = alice.get("/account").content.decode()
    assert 'data-keys="off"' in page and '<option value="off" selected>' in page
    assert "( / )" not in page and "(g l)" not in page
    wrong = alice.post("/account", {"theme": "light", "zone": "", "keys": "some"})
    assert wrong.status_code == 422


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


def test_a_token_is_created_shown_once_and_deleted(alice: Client, lab: Cluster) -> None:
    assert "You have no tokens" in alice.get("/account").content.decode()
    wanted = {"name": "CI", "clusters": ["lab"], "expires": "7"}
    answer = alice.post("/account/new-token", wanted)
    assert answer.headers["Cache-Control"] == "no-store"
    shown = re.search(r"schedweb_[0-9a-f]{64}", answer.content.decode())
    assert shown is not None
    page = alice.get("/account").content.decode()
    assert "CI" in page and shown[0] not in page and shown[0][:15] in page
    again = alice.post("/account/new-token", wanted)
    assert again.status_code == 422 and "already exists" in again.content.decode()
    headers = {"Authorization": f"Bearer {shown[0]}"}
    assert Client(headers=headers).get("/api/v1/clusters").status_code == 200
    token = AccessToken.objects.get()
    assert token.expiry is not None and token.clusters == ["lab"]
    alice.post(f"/account/tokens/{token.pk}/delete")
    assert Client(headers=headers).get("/api/v1/clusters").status_code == 401
    assert alice.post(f"/account/tokens/{token.pk}/delete").status_code == 404


def test_each_kubeconfig_contains_a_new_token(
    alice: Client, lab: Cluster, settings: Any, tmp_path: Path
) -> None:
    settings.TLS_AUTHORITY_FILE = tmp_path / "authority.pem"
    assert alice.post("/clusters/lab/kubeconfig", {"expires": ""}).status_code == 503
    assert not AccessToken.objects.exists()
    settings.TLS_AUTHORITY_FILE.write_text("an authority")
    assert "This cluster only" in alice.get("/clusters/lab/kubeconfig").content.decode()
    answer = alice.post("/clusters/lab/kubeconfig", {"expires": "30", "only_cluster": "on"})
    assert answer.headers["Content-Disposition"] == 'attachment; filename="lab.kubeconfig"'
    config = yaml.safe_load(answer.content)
    user = authenticate({"authorization": f"Bearer {config['users'][0]['user']['token']}"})
    assert token_scope_of(user) == TokenScope(frozenset({"lab"}))
    assert config["clusters"][0]["cluster"]["server"].endswith("/k8s/lab")
    alice.post("/clusters/lab/kubeconfig", {"expires": "", "root": "sni"})
    names = [token.name for token in AccessToken.objects.order_by("pk")]
    assert names == ["kubeconfig of lab", "kubeconfig of lab 2"]
    assert "Kubeconfig of lab" in alice.get("/clusters/lab").content.decode()


def test_the_password_is_changed(alice: Client) -> None:
    wrong = {
        "old_password": "of wonderland",
        "new_password1": "short",
        "new_password2": "other",
    }
    answer = alice.post("/account/password", wrong)
    assert answer.status_code == 422
    errors = answer.context["form"].errors
    # each error is at the field that it is about
    assert errors.keys() == {"new_password1", "new_password2"}
    assert "too short" in errors["new_password1"][0] and "match" in errors["new_password2"][0]
    right = wrong | dict.fromkeys(("new_password1", "new_password2"), "through the glass")
    said = alice.post("/account/password", right, follow=True).content.decode()
    assert "Password changed." in said
    assert User.objects.get(username="alice").check_password("through the glass")


def test_the_help_lists_a_key_for_every_section(alice: Client, lab: Cluster) -> None:
    page = alice.get("/clusters/lab").content.decode()
    sections = page[page.index('class="sections"') : page.index("<main")]
    listed = alice.get("/help").content.decode()
    keys = [part[0] for part in sections.split('data-go="')[1:]]
    assert len(keys) == len(set(keys)) == 11
    assert all(f"<kbd>g</kbd> <kbd>{key}</kbd>" in listed for key in keys)

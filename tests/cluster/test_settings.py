"""Every declared setting is known wherever settings are given, shown or documented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.clusters.settings import change_settings
from apps.administration.management.commands.create_cluster import Command
from apps.administration.management.settings import option_name
from apps.api.control.cluster_serializers import (
    ClusterSerializer,
    ClusterSettingsSerializer,
    NewClusterSerializer,
)
from apps.cluster.admission.plugins.registry import PLUGINS
from apps.cluster.errors import BadRequest, Invalid
from apps.cluster.models import Cluster
from apps.cluster.settings import CHANGEABLE, SETTINGS, Setting
from apps.dashboard.forms.new_cluster import WAYS
from apps.dashboard.forms.settings import ClusterSettingsForm

DOCUMENT = Path(__file__).parents[2] / "docs/operations.md"
PLUGIN = PLUGINS[0].name

each_setting = pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)


@pytest.fixture
def alice(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser("alice"))
    return client


def another_value(setting: Setting) -> Any:
    """A value of the setting that is not its default."""
    match setting.kind:
        case "switch":
            return not setting.default
        case "number":
            return 77
        case "choice":
            return next(value for value, _ in setting.choices if value != setting.default)
        case "plugins":
            return {PLUGIN: {}}


def as_option(setting: Setting, value: Any) -> list[str]:
    text = PLUGIN if setting.kind == "plugins" else {True: "on", False: "off"}.get(value, value)
    return [option_name(setting), str(text)]


def as_typed(setting: Setting, value: Any) -> dict[str, str]:
    if setting.kind == "plugins":
        return {PLUGIN: "on"}
    if setting.kind == "switch" and not setting.follows_site:
        return {setting.name: "on"} if value else {}
    return {setting.name: str(value)}


def form_fields(setting: Setting) -> set[str]:
    return {plugin.name for plugin in PLUGINS} if setting.kind == "plugins" else {setting.name}


def documented() -> dict[str, list[str]]:
    """The rows of the document's table of settings: name -> the other columns."""
    table = DOCUMENT.read_text().partition("## Settings of a cluster")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `")]
    return {name.strip("`"): columns for name, *columns in rows}


def documented_default(setting: Setting) -> str:
    if setting.follows_site:
        return "the site's"
    if setting.draw:
        return "random"
    if setting.kind == "switch":
        return "on" if setting.default else "off"
    return str(setting.default or "none")


@each_setting
def test_a_setting_is_known_everywhere(setting: Setting) -> None:
    command = Command().create_parser("manage.py", "create_cluster")
    places = {
        "the model": {field.name for field in Cluster._meta.fields},
        "the API's clusters": set(ClusterSerializer().fields),
        "POST /clusters": set(NewClusterSerializer().fields),
        "create_cluster": {action.dest for action in command._actions},
        DOCUMENT.name: documented().keys(),
    }
    if setting.follows_site:
        places["the site's settings"] = site.RETENTION.keys()
    if setting in CHANGEABLE:
        places["PATCH /clusters/{name}"] = set(ClusterSettingsSerializer().fields)
    missing = [place for place, names in places.items() if setting.name not in names]
    forms = {f"new cluster: {way}": form for way, (_, form) in WAYS.items() if way != "copy"}
    if setting in CHANGEABLE:
        forms["the page of settings"] = ClusterSettingsForm
    missing += [
        place for place, form in forms.items() if not form_fields(setting) <= form().fields.keys()
    ]
    assert missing == []


@each_setting
def test_the_documents_give_default_and_meaning(setting: Setting) -> None:
    assert documented()[setting.name] == [
        documented_default(setting),
        setting.changed_by,
        f"{setting.label}. {setting.help}",
    ]


@each_setting
def test_a_setting_is_given_at_creation_by_command_api_and_form(
    setting: Setting, alice: Client
) -> None:
    value = another_value(setting)
    call_command("create_cluster", "by-command", *as_option(setting, value))
    body = {"name": "by-api", setting.name: value}
    api = alice.post("/api/v1/clusters", body, content_type="application/json")
    assert (api.status_code, api.json().get(setting.name)) == (201, value)
    typed = {"name": "by-form", "nodes": "0", "zones": "1", **as_typed(setting, value)}
    assert alice.post("/new-cluster", typed).status_code == 302
    for name in ("by-command", "by-api", "by-form"):
        assert getattr(Cluster.objects.get(name=name), setting.name) == value, name


def test_what_is_not_given_has_its_default(alice: Client) -> None:
    call_command("create_cluster", "by-command")
    alice.post("/api/v1/clusters", {"name": "by-api"}, content_type="application/json")
    # the switches are on in the form as it is shown
    typed = {"name": "by-form", "nodes": "0", "zones": "1", "controllers": "on", "kubelet": "on"}
    alice.post("/new-cluster", typed)
    for cluster in Cluster.objects.all():
        for setting in SETTINGS:
            if not setting.draw:
                assert getattr(cluster, setting.name) == setting.default, cluster.name
    assert len({cluster.seed for cluster in Cluster.objects.all()}) == 3


@each_setting
def test_a_setting_is_changed_later_or_refused_by_name(setting: Setting, db: None) -> None:
    cluster = create_cluster("lab", user="tests")
    value = another_value(setting)
    if setting in CHANGEABLE:
        change_settings(cluster, {setting.name: value})
        assert getattr(Cluster.objects.get(name="lab"), setting.name) == value
    else:
        with pytest.raises(BadRequest, match=f"^{setting.name}: not a setting that can be changed"):
            change_settings(cluster, {setting.name: value})


@pytest.mark.parametrize(
    "setting", [each for each in SETTINGS if each.kind == "number"], ids=lambda each: each.name
)
def test_a_number_out_of_its_limits_is_refused_by_name(setting: Setting, db: None) -> None:
    lowest, highest = setting.limits
    for value in (lowest - 1, highest + 1):
        with pytest.raises(Invalid, match=setting.name):
            create_cluster("lab", user="tests", **{setting.name: value})
    assert not Cluster.objects.exists()


def test_a_name_that_is_no_setting_is_refused(db: None) -> None:
    with pytest.raises(TypeError, match="resource_version"):
        create_cluster("lab", user="tests", resource_version=7)

"""Out-of-tree plugins: loaded, checked, and used by a cluster's loop."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError, SystemCheckError

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.engine.profiles.plugins import custom_plugins, find_plugins, known_plugins
from apps.scheduler.config import ConfigError
from apps.scheduler.config.plugin_table import Origin
from apps.scheduler.framework.declaration import PluginPackage
from apps.scheduler.framework.per_node import PerNodePlugin
from apps.scheduler.framework.status import Code, Status, unschedulable
from apps.studies.explanations.pending_pods import explain_pod
from tests.engine.driving import (
    configure,
    create_pods,
    decisions_on,
    enable,
    node_of,
    pod,
    run_until,
)


@pytest.fixture(autouse=True)
def clear_plugin_cache() -> Iterator[None]:
    find_plugins.cache_clear()
    yield
    find_plugins.cache_clear()


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", nodes=3, tie_break="first-name")


@pytest.fixture
def licences(settings: Any) -> None:
    settings.SCHEDWEB_PLUGINS = ("tests.example_plugins:Licences",)


def extension_points() -> dict[str, frozenset[str]]:
    """Of the plugins from outside, without the examples that are always there."""
    outside = {
        name: plugin.extension_points
        for name, plugin in known_plugins().items()
        if plugin.origin is Origin.OUTSIDE
    }
    assert outside.pop("WaitForGroup") == {"permit"}
    return outside


def test_a_setting_names_plugins(settings: Any) -> None:
    paths = ("tests.example_plugins:Licences", "tests.example_plugins.LicencesInColumns")
    settings.SCHEDWEB_PLUGINS = paths
    assert extension_points() == {
        "Licences": {"filter", "score"},
        "LicencesInColumns": {"filter", "score"},
    }


def test_a_setting_names_a_package_of_plugins(settings: Any) -> None:
    settings.SCHEDWEB_PLUGINS = ("tests.engine.profiles.test_plugins:BOTH",)
    assert extension_points().keys() == {"Clumsy", "Odd"}


def test_every_plugin_of_a_package_is_checked(settings: Any) -> None:
    settings.SCHEDWEB_PLUGINS = ("tests.engine.profiles.test_plugins:WITH_AN_IDLE_ONE",)
    with pytest.raises(ImproperlyConfigured, match="the class implements no extension point"):
        custom_plugins()


def test_a_package_provides_plugins_as_entry_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "acme-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[schedweb.plugins]\nlicences = tests.example_plugins:Licences\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert extension_points() == {"Licences": {"filter", "score"}}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("no.such:Thing", "No module named 'no'"),
        ("tests.example_plugins:Nothing", "has no attribute 'Nothing'"),
        ("tests.no_plugins", "(write package.module:Class)"),
        ("tests.example_plugins:np", "is not a class"),
        ("tests.engine.profiles.test_plugins:Nameless", "needs a string attribute `name`"),
        ("tests.engine.profiles.test_plugins:Idle", "implements no extension point"),
        (
            "tests.engine.profiles.test_plugins:Forgetful",
            "the class has reserve, but not unreserve",
        ),
        (
            "tests.engine.profiles.test_plugins:NodeName",
            "NodeName is the name of an in-tree plugin",
        ),
    ],
)
def test_a_class_that_cannot_be_used_is_named(settings: Any, path: str, why: str) -> None:
    settings.SCHEDWEB_PLUGINS = (path,)
    with pytest.raises(ImproperlyConfigured) as problem:
        custom_plugins()
    assert str(problem.value).startswith(f"SCHEDWEB_PLUGINS: {path}")
    assert why in str(problem.value)
    with pytest.raises(SystemCheckError):
        call_command("check")


class Nameless:
    def pre_enqueue(self, pod: Any) -> None: ...


class Idle:
    name = "Idle"


class Forgetful:
    name = "Forgetful"

    def reserve(self, state: Any, pod: Any, node_name: str) -> None: ...


class NodeName:
    name = "NodeName"

    def pre_enqueue(self, pod: Any) -> None: ...


@pytest.mark.django_db(transaction=True)
def test_what_a_plugin_refuses_and_scores_is_in_the_ledger(
    cluster: Cluster, licences: None
) -> None:
    enable(cluster, "Licences")
    needy = pod("needy")
    needy["metadata"]["annotations"] = {"example.com/licence": "maya"}
    create_pods(cluster, needy, pod("modest"))
    Engines().run(cluster.pk)
    (refused,) = decisions_on(cluster, "needy")
    assert refused.message.startswith("0/3 nodes are available: 3 no licence for maya.")
    status = refused.status_of("node-0")
    assert status is not None and status.plugin == "Licences"
    (placed,) = decisions_on(cluster, "modest")
    assert placed.scores_of("node-0")["Licences"] == (0, 100, 100)


@pytest.mark.django_db(transaction=True)
def test_a_pod_that_a_plugin_gates_says_what_the_plugin_said(
    cluster: Cluster, settings: Any
) -> None:
    settings.SCHEDWEB_PLUGINS = ("tests.engine.profiles.outside_plugins:Budget",)
    enable(cluster, "Budget")
    create_pods(cluster, pod("dear"))
    Engines().run(cluster.pk)
    assert explain_pod(cluster, "default", "dear").why_pending == (
        "It is kept out of the queue by Budget: the budget is spent."
    )


@pytest.mark.django_db(transaction=True)
def test_a_profile_with_an_unknown_plugin_is_rejected(cluster: Cluster) -> None:
    with pytest.raises(ConfigError, match="Licences"):
        enable(cluster, "Licences")


@pytest.mark.django_db(transaction=True)
def test_a_profile_that_cannot_be_built_is_rejected(cluster: Cluster, settings: Any) -> None:
    settings.SCHEDWEB_PLUGINS = ("tests.engine.profiles.outside_plugins:Unbuildable",)
    with pytest.raises(ConfigError, match='initializing plugin "Unbuildable": args.must is req'):
        enable(cluster, "Unbuildable")
    with pytest.raises(ConfigError) as refused:
        configure(cluster, extenders=[{"urlPrefix": "nowhere", "filterVerb": "filter"}])
    assert refused.value.causes[0].field == "extenders[0]"


@pytest.mark.django_db(transaction=True)
def test_a_plugin_that_fails_fails_its_pods_alone(cluster: Cluster, settings: Any) -> None:
    settings.SCHEDWEB_PLUGINS = ("tests.engine.profiles.test_plugins:Clumsy",)
    enable(cluster, "Clumsy")
    create_pods(cluster, pod("clumsy"), pod("other"))
    Engines().run(cluster.pk)
    rows = SchedulingDecision.objects.filter(cluster=cluster)
    assert dict(rows.values_list("name", "result")) == {"clumsy": "error", "other": "scheduled"}
    assert rows.get(name="clumsy").message == (
        "running PreFilter plugin \"Clumsy\": KeyError: 'what'"
    )


class Clumsy:
    name = "Clumsy"

    def __init__(self, args: Any, handle: Any) -> None: ...

    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> Any:
        return ({} if pod.name == "clumsy" else {"what": (None, None)})["what"]


ODD = {
    "nul": lambda: unschedulable("a\0b"),
    "surrogate": lambda: unschedulable("a\ud800b"),
    "number": lambda: Status(Code.UNSCHEDULABLE, (5,)),  # type: ignore[arg-type]
    "huge": lambda: unschedulable("x" * 3_000_000),
    "truth": lambda: True,
    "exit": lambda: sys.exit(3),
}


class Odd(PerNodePlugin):
    name = "Odd"

    def filter(self, state: Any, pod: Any, node_info: Any) -> Any:
        return ODD[pod.name]() if pod.name in ODD else None

    def permit(self, state: Any, pod: Any, node_name: str) -> Any:
        if pod.name in ("patch", "kind"):
            return None, 0
        return Status(Code.WAIT), float("nan") if pod.name == "nan" else 0

    def pre_bind(self, state: Any, pod: Any, node_name: str) -> None:
        if pod.name == "patch":
            labels = {"metadata": {"labels": {"team": "a\0b"}}}
            self.handle.client.patch("Pod", pod.name, labels, namespace=pod.namespace)
        if pod.name == "kind":
            self.handle.client.patch("Gizmo", "one", {})
            self.handle.client.event(pod, "Odd", "a\0b")


BOTH = PluginPackage(plugins=(Clumsy, Odd))
WITH_AN_IDLE_ONE = PluginPackage(plugins=(Clumsy, Idle))


@pytest.mark.django_db(transaction=True)
def test_results_that_cannot_be_stored_do_not_stop_the_loop(
    cluster: Cluster, settings: Any
) -> None:
    settings.SCHEDWEB_PLUGINS = ("tests.engine.profiles.test_plugins:Odd",)
    enable(cluster, "Odd")
    create_pods(cluster, *(pod(name) for name in ODD), pod("nan"), pod("patch"), pod("kind"))
    engines = Engines()
    run_until(engines, cluster, lambda: node_of(cluster, "kind"))
    rows = SchedulingDecision.objects.filter(cluster=cluster)
    assert dict(rows.values_list("name", "result")) == {
        "nul": "unschedulable",
        "surrogate": "unschedulable",
        "number": "error",
        "huge": "unschedulable",
        "truth": "error",
        "exit": "error",
        "nan": "error",
        "patch": "error",
        "kind": "scheduled",
    }
    assert all("a\ufffdb" in row.message for row in rows.filter(name="nul"))


@pytest.mark.django_db(transaction=True)
def test_a_command_without_the_plugins_of_a_profile_says_so_in_one_line(
    cluster: Cluster, licences: None, settings: Any
) -> None:
    enable(cluster, "Licences")
    settings.SCHEDWEB_PLUGINS = ()
    find_plugins.cache_clear()
    with pytest.raises(CommandError, match='plugin "Licences" does not exist'):
        call_command("fork", "lab", "copy")

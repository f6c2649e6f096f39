"""A cluster is saved while the site runs, and restored object by object."""

from __future__ import annotations

import hashlib
import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from apps.administration.clusters.forking import fork_cluster
from apps.administration.clusters.lifecycle import create_cluster, delete_cluster
from apps.cluster import kinds
from apps.cluster.access.grants import role_of
from apps.cluster.models import Cluster, ClusterAccess
from apps.cluster.roles import Role
from apps.cluster.writes import Create
from apps.cluster.writing import store
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import LoopLease, SchedulingDecision, Webhook
from apps.engine.series import sampling
from apps.engine.series.reading import read_series
from apps.engine.series.spans import parse_span
from apps.people import members
from apps.studies.past.past_version import PastVersion
from apps.studies.rebuilding import recompute
from schedweb.backup import tables
from tests.cluster.writing.test_every_way import WRITES
from tests.cluster.writing.ways import OneStatement
from tests.engine.driving import ACTOR, create_pods, node_of, pod, run_until

pytestmark = pytest.mark.django_db(transaction=True)

#: What is new in a restored cluster: ids, and what depends on the place.
NEW = {"id", "cluster_id", "node_id", "node_table_id", "webhook_id"}
NEW |= {"decision_id", "move_id", "decision_position", "holder", "expires_at", "due_at", "enabled"}
TAINTED = {
    "metadata": {"name": "reserved"},
    "spec": {"taints": [{"key": "for", "value": "tests", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "1", "pods": "10"}},
}


@pytest.fixture
def shop() -> Cluster:
    """A cluster with running, pending and deleted pods, and all records about them."""
    cluster = create_cluster("shop", user="alice", nodes=3, zones=3)
    create_pods(cluster, *(pod(f"web-{number}") for number in range(6)), pod("big", cpu="640"))
    store.write(cluster, [Create(kinds.NODE, TAINTED, "")], actor=ACTOR)
    engines = Engines()
    run_until(engines, cluster, lambda: SchedulingDecision.objects.count() >= 7)
    engines.close()
    Webhook.objects.create(cluster=cluster, url="https://hooks.example/a", kinds=[], secret="s")
    sampling.sample_all()
    cluster.refresh_from_db()
    return cluster


def is_new(table: str, column: str) -> bool:
    """Whether a column has another value after a restore; the nodes of charts contain ids."""
    return column in NEW or (table, column) == ("controlplane_seriesbucket", "nodes")


def node_figures(cluster: Cluster, name: str) -> list[list[float | None]]:
    span = parse_span(cluster, {"since": "15m", "scope": "node"})
    charts = read_series(cluster, span, scope="node", name=name).charts
    return [[values.values[-1] for values in chart.series] for chart in charts]


def read_rows(cluster: Cluster) -> dict[str, list[dict[str, Any]]]:
    """All rows of a cluster, oldest first, without what a restore has to change."""
    rows: dict[str, list[dict[str, Any]]] = {}
    with connection.connection.cursor() as cursor:
        for name, table in tables.list_tables(cursor).items():
            condition = tables.of_cluster(name, table, cluster.pk)
            if condition is None:
                continue
            order = "id" if "id" in table.columns else "cluster_id"
            cursor.execute(f"SELECT * FROM {name} WHERE {condition.as_string()} ORDER BY {order}")
            names = [column.name for column in cursor.description]
            rows[name] = [
                {key: value for key, value in zip(names, row, strict=True) if not is_new(name, key)}
                for row in cursor.fetchall()
            ]
    return {name: found for name, found in rows.items() if found}


def test_a_restored_cluster_equals_the_saved_one_without_its_members_and_goes_on(
    shop: Cluster, tmp_path: Path
) -> None:
    alice, bob = User.objects.create_user("alice"), User.objects.create_user("bob")
    members.set_owner(shop, "alice", actor="root")
    members.add_member(shop, user="bob", role=Role.OPERATOR, actor="alice")
    Group.objects.create(name="sre")
    members.add_member(shop, group="sre", role=Role.VIEWER, actor="alice")
    OneStatement(shop).write_all(WRITES)
    shop.refresh_from_db()
    saved, said = tmp_path / "shop.backup", StringIO()
    call_command("backup", str(saved), "--cluster", "shop", stdout=said)
    assert "cluster shop" in said.getvalue() and saved.stat().st_mode & 0o777 == 0o600
    before = read_rows(shop)
    assert {"cluster_pod", "cluster_taint", "controlplane_queuemove"} <= set(before)
    assert {"controlplane_seriesbucket", "controlplane_seriescursor"} <= set(before)
    assert len(before["controlplane_schedulingdecision"]) >= 7

    # beside the original, which keeps all of its rows; an earlier restore was killed
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{connection.settings_dict["NAME"]}_restore"')
    call_command("restore", str(saved), "--cluster", "shop-2", stdout=said)
    copy = Cluster.objects.get(name="shop-2")
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE datname LIKE '%%restore'")
        assert cursor.fetchall() == []
    assert "it has no owner and no members" in said.getvalue()
    assert ClusterAccess.objects.get(cluster=copy).owner is None
    assert not members.list_members(copy).exists()
    assert [role_of(user, "shop-2", fresh=True) for user in (alice, bob)] == [None, None]
    assert copy.pk != shop.pk and copy.uid != shop.uid
    assert copy.resource_version == shop.resource_version
    assert read_rows(shop) == before
    before["cluster_clusteraccess"][0]["owner_id"] = None
    compare(read_rows(copy), before)
    nodes = ["node-0", "node-1", "node-2", "reserved"]
    figures = [node_figures(copy, name) for name in nodes]
    assert figures == [node_figures(shop, name) for name in nodes]
    assert sum(pods for _, (pods,), _ in figures if pods) == 6

    for row in SchedulingDecision.objects.filter(cluster=copy):
        decision = read(row).decision
        again = recompute(row)
        assert (again.node, again.message) == (decision.node, decision.message)

    create_pods(copy, pod("next"))
    engines = Engines()
    run_until(engines, copy, lambda: node_of(copy, "next"))
    engines.close()
    assert LoopLease.objects.get(cluster=copy).epoch > 0


def test_a_restored_fork_has_the_history_that_it_shares_with_a_deleted_cluster(
    shop: Cluster, tmp_path: Path
) -> None:
    fork = fork_cluster(
        shop, PastVersion(shop.resource_version, shop.now()), "branch", user="alice"
    )
    create_pods(fork, pod("of-the-fork"))
    saved = tmp_path / "branch.backup"
    call_command("backup", str(saved), "--cluster", "branch", stdout=StringIO())
    before = read_rows(fork)
    versions = [row["version"] for row in before["cluster_change"]]
    assert len(versions) > shop.resource_version > 1
    shop.delete()
    call_command("restore", str(saved), "--cluster", "branch-2", stdout=StringIO())
    copy = Cluster.objects.get(name="branch-2")
    found = read_rows(copy)
    assert sorted(row["version"] for row in found["cluster_change"]) == sorted(versions)
    # the restored cluster has these changes itself
    ((point,), (original,)) = found["cluster_forkpoint"], before["cluster_forkpoint"]
    assert (point.pop("shared"), original.pop("shared")) == (False, True)
    compare(found, before)


@pytest.mark.parametrize("whole", [False, True])
def test_a_restored_cluster_has_no_members_but_the_owner_that_is_given(
    shop: Cluster, tmp_path: Path, whole: bool
) -> None:
    alice, bob = User.objects.create_user("alice"), User.objects.create_user("bob")
    Group.objects.create(name="sre")
    members.set_owner(shop, "alice", actor="root")
    members.add_member(shop, user="bob", role=Role.OPERATOR, actor="alice")
    members.add_member(shop, group="sre", role=Role.VIEWER, actor="alice")
    saved, said = tmp_path / "shop.backup", StringIO()
    call_command("backup", str(saved), *([] if whole else ["--cluster", "shop"]), stdout=StringIO())
    name = "shop" if whole else "shop-2"
    if whole:
        shop.delete()
    options = ["--cluster", name]
    with pytest.raises(CommandError, match='users "carol" not found'):
        call_command("restore", str(saved), *options, "--owner", "carol")
    if whole:
        # a file of the cluster alone: the first test
        call_command("restore", str(saved), *options, stdout=said)
        assert "it has no owner and no members" in said.getvalue()
        access = ClusterAccess.objects.get(cluster=Cluster.objects.get(name=name))
        assert (access.name, access.owner) == (name, None)
        assert not members.list_members(access.cluster).exists()
        assert [role_of(user, name, fresh=True) for user in (alice, bob)] == [None, None]
        delete_cluster(access.cluster, user="root")
    call_command("restore", str(saved), *options, "--owner", "alice", stdout=said)
    assert role_of(alice, name, fresh=True) is Role.ADMIN
    assert role_of(bob, name, fresh=True) is None


def test_a_file_of_an_earlier_version_with_members_is_restored(
    shop: Cluster, tmp_path: Path
) -> None:
    User.objects.create_user("alice")
    members.set_owner(shop, "alice", actor="root")
    members.add_member(shop, user="alice", role=Role.OPERATOR, actor="root")
    saved = tmp_path / "shop.backup"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "OF_SITE", ())
        call_command("backup", str(saved), "--cluster", "shop", stdout=StringIO())
    assert "tables/cluster_membership" in zipfile.ZipFile(saved).namelist()
    call_command("restore", str(saved), "--cluster", "shop-2", stdout=StringIO())
    restored = Cluster.objects.get(name="shop-2")
    assert not members.list_members(restored).exists()
    assert members.list_members(shop).count() == 1


def compare(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare the rows, except the name and uid of the cluster."""
    assert set(found) == set(expected)
    for name, rows in expected.items():
        if name in ("cluster_cluster", "cluster_clusteraccess"):
            hidden = {"name", "uid"}
            for row in (*rows, *found[name]):
                [row.pop(key, None) for key in hidden]
        assert found[name] == rows, name


def test_a_backup_of_a_name_in_use_or_unknown_is_refused(shop: Cluster, tmp_path: Path) -> None:
    saved = tmp_path / "shop.backup"
    with pytest.raises(CommandError, match='clusters "other" not found'):
        call_command("backup", str(saved), "--cluster", "other")
    assert list(tmp_path.iterdir()) == []
    call_command("backup", str(saved), "--cluster", "shop", stdout=StringIO())
    with pytest.raises(CommandError, match="exists"):
        call_command("backup", str(saved))
    with pytest.raises(CommandError, match='clusters "shop" already exists'):
        call_command("restore", str(saved), "--cluster", "shop")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "not an intact backup"),
        (lambda text: text.replace(b'"rows": 7', b'"rows": 8'), "altered|intact"),
        (lambda text: b"no backup", "not an intact backup"),
    ],
)
def test_a_damaged_file_changes_nothing(
    shop: Cluster, tmp_path: Path, change: Any, message: str
) -> None:
    saved = tmp_path / "shop.backup"
    call_command("backup", str(saved), "--cluster", "shop", stdout=StringIO())
    before = saved.read_bytes()
    saved.write_bytes(change(before))
    assert saved.read_bytes() != before
    with pytest.raises(CommandError, match=message):
        call_command("restore", str(saved), "--cluster", "shop-2")
    assert not Cluster.objects.filter(name="shop-2").exists()


def test_a_file_with_other_rows_or_of_a_newer_version_is_refused(
    shop: Cluster, tmp_path: Path
) -> None:
    saved = tmp_path / "shop.backup"
    call_command("backup", str(saved), "--cluster", "shop", stdout=StringIO())
    manifest = zipfile.ZipFile(saved).read("manifest.json")
    newer = manifest.replace(b'"format": 1', b'"format": 2')
    for changes, sealed, message in (
        ({"tables/cluster_pod": b""}, False, "checksum of tables/cluster_pod is wrong"),
        ({"manifest.json": newer}, False, "checksum of its manifest is wrong"),
        ({"manifest.json": newer}, True, "newer version of schedweb .* wrote this backup"),
    ):
        altered = rewrite(saved, tmp_path / "altered.backup", changes, sealed=sealed)
        with pytest.raises(CommandError, match=message):
            call_command("restore", str(altered), "--cluster", "shop-2")
    for text, changed, message in (
        (b'"days": {', b'"days": {"x (); DROP TABLE auth_user; --": ["260101"], ', "not have: 'x "),
        (b'"tables": {', b'"tables": {"pg_authid": {"columns": []}, ', "members differ"),
    ):
        altered_manifest = manifest.replace(text, changed, 1)
        assert altered_manifest != manifest
        changes = {"manifest.json": altered_manifest}
        altered = rewrite(saved, tmp_path / "hostile.backup", changes, sealed=True)
        with pytest.raises(CommandError, match=message):
            call_command("restore", str(altered), "--cluster", "shop-2")
    later = manifest.replace(b'"0001_initial"', b'"9900_of_the_future"', 1)
    altered = rewrite(saved, tmp_path / "later.backup", {"manifest.json": later}, sealed=True)
    with pytest.raises(CommandError, match="does not have the migrations .*9900_of_the_future"):
        call_command("restore", str(altered), "--cluster", "shop-2")
    assert list(Cluster.objects.values_list("name", flat=True)) == ["shop"]


def rewrite(source: Path, target: Path, changes: dict[str, bytes], *, sealed: bool) -> Path:
    """Copy a backup with other members; `sealed`: with the right checksum of its manifest."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, changes.get(name, old.read(name)))
        manifest = changes.get("manifest.json", old.read("manifest.json"))
        new.comment = hashlib.sha256(manifest).hexdigest().encode() if sealed else old.comment
    return target

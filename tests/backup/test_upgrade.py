"""Databases of earlier versions open in this one; a failed upgrade leaves them as they were.

`dumps` has a dump of each: a cluster `kept` with 9 pods and their history, and the history of a
deleted cluster. To add one for a release, see docs/development.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations import RunPython
from django.db.migrations.loader import MigrationLoader
from django.test import Client
from psycopg import sql

from apps.cluster import kinds, queries
from apps.cluster.models import Cluster, Pod
from apps.engine.ledger.node_tables import node_names
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.studies.rebuilding import recompute
from schedweb.backup import databases, tables
from schedweb.backup.archive import BackupError
from schedweb.backup.restoring import find_targets
from schedweb.backup.site import restore_site
from schedweb.management.commands.prepare import upgrade
from tests.backup.states import STATES, load
from tests.engine.driving import create_pods, node_of, pod, run_until

_ALL = sql.SQL("SELECT to_jsonb(t)::text FROM {} t ORDER BY 1")
NUMBERED = {"auth_permission", "django_content_type"}
NAME = "of_an_earlier_version"


@pytest.fixture
def state(
    request: pytest.FixtureRequest,
    django_db_setup: None,
    django_db_blocker: Any,
) -> Iterator[str]:
    """Django's connection is one to a database with a dump; yields its name."""
    with django_db_blocker.unblock():
        connection.ensure_connection()
        with databases.connect("postgres") as server:
            server.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)".encode())
            server.execute(f"CREATE DATABASE {NAME}".encode())
        with databases.connect(NAME) as new:
            load(new, request.param)
        # tables of the other database may have the same ids
        node_names.cache_clear()
        with databases.using(NAME):
            yield NAME
        node_names.cache_clear()
        with databases.connect("postgres") as server:
            server.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)".encode())


def every_state(function: Any) -> Any:
    return pytest.mark.parametrize("state", STATES, indirect=True, ids=lambda path: path.stem)(
        function
    )


def test_there_are_states_of_the_first_and_of_a_recent_version() -> None:
    assert len(STATES) >= 2


@every_state
def test_an_earlier_database_opens_and_goes_on(state: str, client: Client) -> None:
    call_command("prepare", stdout=StringIO())
    kept = Cluster.objects.get(name="kept")
    check_contents(kept)
    client.force_login(User.objects.get(username="admin"))
    newest = SchedulingDecision.objects.filter(cluster=kept).latest("id")
    for page in ("", "/pods", "/decisions", f"/decisions/{newest.pk}", "/queue"):
        assert client.get(f"/clusters/kept{page}").status_code == 200, page
    engines = Engines()
    create_pods(kept, pod("next"))
    run_until(engines, kept, lambda: node_of(kept, "next"))
    engines.close()


@pytest.mark.parametrize("state", STATES[-1:], indirect=True, ids=["newest"])
def test_a_restored_site_equals_the_saved_one_and_goes_on(state: str, tmp_path: Path) -> None:
    saved = tmp_path / "site.backup"
    call_command("backup", str(saved), stdout=StringIO())
    upgrade()
    expected = read_everything()
    data = tmp_path / "data"
    data.mkdir()
    with databases.connect(state), pytest.raises(BackupError, match="the site is running"):
        restore_site(saved, data)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM cluster_pod")
    restore_site(saved, data)
    # upgraded after the restore, the backup has the rows of the database that was upgraded itself
    assert read_everything() == expected
    check_contents(Cluster.objects.get(name="kept"))


def check_contents(kept: Cluster) -> None:
    """The objects, the change log and the ledger are those that the earlier version recorded."""
    pods = {f"web-{number}" for number in range(1, 8)} | {"too-large"}
    assert set(Pod.objects.filter(cluster=kept).values_list("name", flat=True)) == pods
    assert queries.get(kept, kinds.POD, "default", "web-1")["status"]["phase"] == "Running"
    rows = list(SchedulingDecision.objects.filter(cluster=kept).order_by("id"))
    decisions = [read(row).decision for row in rows]
    assert {decision.pod_key for decision in decisions} == {
        f"default/{name}" for name in pods | {"web-8"}
    }
    assert {each.result for each in decisions} == {"scheduled", "unschedulable"}
    assert any("Insufficient cpu" in decision.message for decision in decisions)
    for row, decision in zip(rows, decisions, strict=True):
        again = recompute(row)
        assert (again.node, again.message) == (decision.node, decision.message)


def read_everything() -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables, except those that Django numbers in the order of their creation."""
    connection.ensure_connection()
    with connection.connection.cursor() as cursor:
        return {
            name: cursor.execute(
                sql.SQL("SELECT to_jsonb(t)::text FROM {} t ORDER BY 1").format(
                    sql.Identifier(name)
                )
            ).fetchall()
            for name in tables.list_tables(cursor)
            if name not in NUMBERED
        }


@pytest.mark.parametrize("state", STATES[:1], indirect=True, ids=["first"])
def test_a_migration_that_fails_leaves_the_database_to_the_earlier_version(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All migrations of an upgrade are one transaction."""
    before = read_everything()
    load = MigrationLoader.build_graph

    def build_with_a_mistake(loader: MigrationLoader) -> None:
        load(loader)
        third = loader.disk_migrations["cluster", "0003_quotas_and_admission"]
        third.operations = [*third.operations, RunPython(fail)]

    monkeypatch.setattr(MigrationLoader, "build_graph", build_with_a_mistake)
    with pytest.raises(CommandError, match="Nothing was changed"):
        call_command("prepare", stdout=StringIO())
    connection.close()
    assert read_everything() == before


JOINED = ("cluster", "0001_squashed_0013_roles")


@pytest.mark.parametrize(
    ("applied", "targets", "is_joined"),
    [
        (0, [], True),
        (3, ["0003_quotas_and_admission"], False),
        (13, ["0001_squashed_0013_roles"], True),
        (14, ["0014_members_of_existing_clusters"], True),
    ],
)
def test_a_backup_is_restored_with_the_migrations_that_it_has(
    applied: int, targets: list[str], is_joined: bool
) -> None:
    """An earlier version may have some of the migrations that one replaces now."""
    loader = MigrationLoader(None)
    others = sorted(key for key in loader.disk_migrations if key[0] == "cluster" and key != JOINED)
    loader, found = find_targets(loader, others[:applied])
    assert found == [("cluster", name) for name in targets]
    plan = [key for target in found for key in loader.graph.forwards_plan(target)]
    assert (JOINED in plan) == (is_joined and applied > 0)
    assert (others[0] in plan) == (not is_joined)


def fail(apps: Any, schema_editor: Any) -> None:
    raise psycopg.errors.DiskFull("could not extend file")

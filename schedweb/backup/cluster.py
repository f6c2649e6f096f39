"""Restores one cluster into a running site: its rows get new ids, its versions and uids stay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from django.apps import apps
from django.db import connection, models, transaction
from psycopg import sql

from apps.cluster.errors import AlreadyExists
from apps.cluster.models import Cluster, Node
from apps.cluster.partitions import daily
from apps.engine.models import LoopLease, Operation, Webhook
from apps.engine.series import storing
from apps.engine.workers.waking import make_due
from apps.people import members
from schedweb.backup import databases, tables
from schedweb.backup.archive import BackupError, Table, open_backup
from schedweb.backup.databases import Connection
from schedweb.backup.restoring import fill_database, refuse_newer
from schedweb.backup.tables import AnyCursor

#: Columns with the id of the last row that was handled, without being a reference: its table.
POSITIONS = {
    ("controlplane_seriescursor", "decision_id"): "controlplane_schedulingdecision",
    ("controlplane_seriescursor", "move_id"): "controlplane_queuemove",
    ("controlplane_webhook", "decision_position"): "controlplane_schedulingdecision",
}


def restore_cluster(path: Path, name: str, *, owner: str = "", actor: str = "") -> Cluster:
    """Create the cluster *name* from the backup of a cluster or of a site.

    With a backup of a site, *name* must be one of its clusters; with one of a cluster it may be
    any. It has no members but *owner*, and nobody schedules it before it is complete. Raises
    BackupError, AlreadyExists, or NotFound for an unknown owner.
    """
    if owner:
        members.get_user(owner)
    if Cluster.objects.filter(name=name).exists():
        raise AlreadyExists("clusters", name)
    with open_backup(path) as backup:
        refuse_newer(backup.manifest)
        with databases.scratch_database() as scratch:
            with databases.using(scratch):
                fill_database(backup)
            with databases.connect(scratch) as source:
                number = _find(source, backup.manifest.cluster or name)
                restored = _transfer(source, number, name)
    if owner:
        members.set_owner(restored, owner, actor=actor)
    daily.prepare_all()
    make_due(restored.pk)
    return restored


def _find(source: Connection, name: str) -> int:
    cursor = source.cursor()
    row = cursor.execute("SELECT id FROM cluster_cluster WHERE name = %s", [name]).fetchone()
    if row is None:
        raise BackupError(f"the backup has no cluster {name}")
    return int(str(row[0]))


def _transfer(source: Connection, number: int, name: str) -> Cluster:
    """Copy the rows of a cluster in one transaction; returns the new cluster."""
    chosen = list(_models_of_clusters())
    with transaction.atomic():
        cursor: AnyCursor = connection.connection.cursor()
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '10min'")
        columns_of = tables.list_tables(cursor)
        for model in chosen:
            _stage(source, cursor, model, columns_of[model._meta.db_table], number)
        _adjust(cursor, name)
        for model in chosen:
            if _has_own_ids(model):
                _number_rows(cursor, model._meta.db_table)
        staged = {model._meta.db_table for model in chosen}
        for model in chosen:
            cursor.execute(_insert(model, columns_of[model._meta.db_table], staged))
        restored = Cluster.objects.get(name=name)
        _renumber_series(cursor, restored)
        # the worker that had the lease is of another site, or of another cluster
        LoopLease.objects.filter(cluster=restored).update(holder="", expires_at=None)
    return restored


def _renumber_series(cursor: AnyCursor, restored: Cluster) -> None:
    """The charts of nodes find a node by its id."""
    ids = sql.Identifier(f"ids_{Node._meta.db_table}")
    cursor.execute(sql.SQL("SELECT old, new FROM {}").format(ids))
    storing.renumber_nodes(restored.pk, {int(old): int(new) for old, new in cursor.fetchall()})


def _models_of_clusters() -> Iterator[type[models.Model]]:
    """What belongs to clusters alone, referenced tables first.

    Rows that need a row of the site as well, such as a user, stay in the site.
    """
    yield Cluster
    taken: set[type[models.Model]] = {Cluster}
    waiting = [model for model in apps.get_models() if _belongs_to_clusters(model)]
    while ready := [model for model in waiting if _required(model) <= taken]:
        yield from ready
        taken.update(ready)
        waiting = [model for model in waiting if model not in taken]


def _belongs_to_clusters(model: type[models.Model]) -> bool:
    columns = {field.column for field in model._meta.concrete_fields}
    table = model._meta.db_table
    is_part = "cluster_id" in columns or table in tables.PART_OF
    return is_part and model._meta.managed and table not in tables.OF_SITE


def _required(model: type[models.Model]) -> set[type[models.Model]]:
    return {
        field.related_model
        for field in model._meta.concrete_fields
        if isinstance(field, models.ForeignKey)
        and isinstance(field.related_model, type)
        and not (field.null and not _belongs_to_clusters(field.related_model))
    } - {model}


def _has_own_ids(model: type[models.Model]) -> bool:
    return isinstance(model._meta.pk, models.AutoField | models.BigAutoField)


def _stage(
    source: Connection, cursor: AnyCursor, model: type[models.Model], table: Table, number: int
) -> None:
    """Copy the rows of the cluster into a temporary table."""
    name = model._meta.db_table
    staged = f"restored_{name}"
    cursor.execute(
        sql.SQL("CREATE TEMP TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA").format(
            sql.Identifier(staged), tables.columns_of(table), sql.Identifier(name)
        )
    )
    condition = tables.of_cluster(name, table, number)
    assert condition is not None
    with (
        source.cursor() as reader,
        reader.copy(tables.copy_out(name, table, condition)) as rows,
        cursor.copy(tables.copy_in(staged, table)) as target,
    ):
        for block in rows:
            target.write(block)


def _adjust(cursor: AnyCursor, name: str) -> None:
    """Change what is different in the new place."""
    uid = uuid4()
    cursor.execute(
        "UPDATE restored_cluster_cluster r SET name = %s, uid = CASE WHEN EXISTS "
        "(SELECT FROM cluster_cluster c WHERE c.uid = r.uid) THEN %s ELSE r.uid END",
        [name, uid],
    )
    cursor.execute("UPDATE restored_cluster_clusteraccess SET name = %s", [name])
    # the changes that a fork shared with other clusters are its own now
    cursor.execute(
        "UPDATE restored_cluster_change SET cluster_id = (SELECT id FROM restored_cluster_cluster)"
    )
    cursor.execute("UPDATE restored_cluster_forkpoint SET shared = false")
    # an operation would run, and a webhook would tell, a second time
    operation, webhook = Operation._meta.db_table, Webhook._meta.db_table
    cursor.execute(
        sql.SQL("DELETE FROM {} WHERE state = ANY(%s)").format(
            sql.Identifier(f"restored_{operation}")
        ),
        [[Operation.State.WAITING, Operation.State.RUNNING]],
    )
    cursor.execute(
        sql.SQL("UPDATE {} SET enabled = false").format(sql.Identifier(f"restored_{webhook}"))
    )


def _number_rows(cursor: AnyCursor, name: str) -> None:
    """Give each staged row a new id, in the order of the old ones."""
    new = sql.SQL("nextval(pg_get_serial_sequence({}, 'id'))").format(sql.Literal(name))
    if name in daily.TABLES:
        # rows from before the partitioning have no day
        new = sql.SQL(
            "coalesce(nullif(id / {rows}, 0), min(nullif(id / {rows}, 0)) OVER (), "
            "to_char(now() AT TIME ZONE 'UTC', 'YYMMDD')::bigint) * {rows} + nextval({count})"
        ).format(rows=sql.Literal(daily.ROWS_OF_A_DAY), count=sql.Literal(f"{name}_number"))
    ids = sql.Identifier(f"ids_{name}")
    cursor.execute(
        sql.SQL(
            "CREATE TEMP TABLE {} ON COMMIT DROP AS "
            "SELECT id AS old, {} AS new FROM (SELECT id FROM {} ORDER BY id) ordered"
        ).format(ids, new, sql.Identifier(f"restored_{name}"))
    )
    cursor.execute(sql.SQL("CREATE UNIQUE INDEX ON {} (old)").format(ids))
    cursor.execute(sql.SQL("ANALYZE {}").format(ids))


def _insert(model: type[models.Model], table: Table, staged: set[str]) -> sql.Composed:
    """Copy the staged rows of a table into it, with the new ids in all references."""
    name = model._meta.db_table
    by_column = {field.column: field for field in model._meta.concrete_fields}
    values = [_value(name, column, by_column[column], staged) for column in table.columns]
    return sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} r").format(
        sql.Identifier(name),
        tables.columns_of(table),
        sql.SQL(", ").join(values),
        sql.Identifier(f"restored_{name}"),
    )


def _value(
    name: str, column: str, field: models.Field[object, object], staged: set[str]
) -> sql.Composable:
    """The expression of one column of a restored row."""
    plain = sql.Identifier("r", column)
    if (name, column) in POSITIONS:
        ids = sql.Identifier(f"ids_{POSITIONS[name, column]}")
        return sql.SQL("coalesce((SELECT max(new) FROM {} WHERE old <= {}), 0)").format(ids, plain)
    owner = name if column == "id" else ""
    if isinstance(field, models.ForeignKey) and isinstance(field.related_model, type):
        owner = field.related_model._meta.db_table
        if owner not in staged:
            return sql.SQL("NULL")
    if not owner:
        return plain
    return sql.SQL("(SELECT new FROM {} WHERE old = {})").format(
        sql.Identifier(f"ids_{owner}"), plain
    )

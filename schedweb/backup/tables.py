"""Which tables a backup has: read from the database, to know those of old versions as well."""

from __future__ import annotations

from typing import Any

from psycopg import Cursor, sql

from schedweb.backup.archive import Table

#: Written by the migrations themselves.
_NOT_SAVED = ("django_migrations",)
#: Tables without a column `cluster_id` whose rows belong to a row of a cluster: column, table.
PART_OF = {"cluster_taint": ("node_id", "cluster_node")}
#: Rows that say what users of a site may do with a cluster: they stay in the site.
OF_SITE = ("cluster_membership",)

AnyCursor = Cursor[Any]


def list_tables(cursor: AnyCursor) -> dict[str, Table]:
    """The tables of the site's schema with their columns; partitions belong to their table."""
    cursor.execute(
        "SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum) FROM pg_class c "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
        "AND a.attgenerated = '' WHERE c.relnamespace = current_schema()::regnamespace "
        "AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> ALL(%s) "
        "GROUP BY c.relname ORDER BY c.relname",
        [list(_NOT_SAVED)],
    )
    return {name: Table(columns) for name, columns in cursor.fetchall()}


def of_cluster(name: str, table: Table, cluster_id: int) -> sql.Composable | None:
    """The condition for the rows of a cluster; None for a table without any."""
    number = sql.Literal(cluster_id)
    if name in OF_SITE:
        return None
    if name == "cluster_cluster":
        return sql.SQL("id = {}").format(number)
    if name == "cluster_change":
        # what a fork shares with other clusters is part of its history
        return sql.SQL("id IN (SELECT id FROM cluster_history WHERE cluster_id = {})").format(
            number
        )
    if "cluster_id" in table.columns:
        return sql.SQL("cluster_id = {}").format(number)
    if name in PART_OF:
        column, owner = PART_OF[name]
        return sql.SQL("{} IN (SELECT id FROM {} WHERE cluster_id = {})").format(
            sql.Identifier(column), sql.Identifier(owner), number
        )
    return None


def copy_out(name: str, table: Table, condition: sql.Composable) -> sql.Composed:
    """The statement that writes these rows to the client."""
    return sql.SQL("COPY (SELECT {} FROM {} WHERE {}) TO STDOUT").format(
        columns_of(table), sql.Identifier(name), condition
    )


def copy_in(name: str, table: Table) -> sql.Composed:
    """The statement that reads rows from the client."""
    return sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(name), columns_of(table))


def columns_of(table: Table) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, table.columns))


def list_sequences(cursor: AnyCursor) -> dict[str, int]:
    """The last values of the schema's sequences that have been used."""
    cursor.execute(
        "SELECT sequencename, last_value FROM pg_sequences "
        "WHERE schemaname = current_schema() AND last_value IS NOT NULL"
    )
    return dict(cursor.fetchall())


def list_days(cursor: AnyCursor) -> dict[str, list[str]]:
    """The days of which partitioned tables have a partition, as YYMMDD."""
    cursor.execute(
        "SELECT p.relname, array_agg(right(c.relname, 6) ORDER BY c.relname) FROM pg_inherits i "
        "JOIN pg_class p ON p.oid = i.inhparent AND p.relkind = 'p' "
        "JOIN pg_class c ON c.oid = i.inhrelid AND c.relname ~ '_[0-9]{6}$' GROUP BY p.relname"
    )
    return dict(cursor.fetchall())

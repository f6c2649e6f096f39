"""Dumps of the databases of earlier versions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psycopg
import zstandard
from psycopg import sql

#: In order of their age.
STATES = sorted((Path(__file__).parent / "dumps").glob("*.sql.zst"))


def load(database: psycopg.Connection[Any], state: Path) -> None:
    """Fill an empty database, on a connection with autocommit."""
    dump = zstandard.decompress(state.read_bytes()).decode()
    for role in sorted(set(re.findall(r"TO (schedweb_\w+);", dump))):
        known = database.execute("SELECT FROM pg_roles WHERE rolname = %s", [role])
        if not known.rowcount:
            database.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(role)))
    database.execute("DROP SCHEMA public CASCADE")
    database.execute(dump.encode())

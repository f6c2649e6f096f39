"""Columns of config maps and secrets."""

from __future__ import annotations

from typing import Final

from apps.cluster.tables.columns import (
    AGE,
    NAME,
    Column,
    count,
    path,
)

CONFIG_MAPS: Final = (
    NAME,
    Column("Data", lambda b, now: len(b.get("data") or ()) + len(b.get("binaryData") or ())),
    AGE,
)
SECRETS: Final = (
    NAME,
    Column("Type", path("type")),
    Column("Data", count("data")),
    AGE,
)

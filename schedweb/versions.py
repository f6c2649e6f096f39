"""Whether this version of the code can open the database."""

from __future__ import annotations

import logging
import sys
from typing import Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connection
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

log = logging.getLogger(__name__)

#: Migrations that a message lists.
_LISTED = 3
#: Django's table of applied migrations, whose comment is the version that prepared the database.
_TABLE: Final = "django_migrations"
_PREFIX: Final = "prepared by schedweb "


class NewerDatabase(ImproperlyConfigured):
    """A newer version has prepared the database; the message names both, and its migrations."""


def record_version() -> None:
    """Note in the database that this version has prepared it."""
    if _recorded_version() != settings.VERSION:
        comment = sql.SQL("COMMENT ON TABLE {} IS {}").format(
            sql.Identifier(_TABLE), sql.Literal(_PREFIX + settings.VERSION)
        )
        with connection.cursor() as cursor:
            cursor.execute(comment)


def _recorded_version() -> str:
    """The version that has prepared the database; "" if none has."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT obj_description(to_regclass(%s), 'pg_class')", [_TABLE])
        comment = cursor.fetchone()[0] or ""
    return comment.removeprefix(_PREFIX) if comment.startswith(_PREFIX) else ""


def refuse_newer_database() -> None:
    """Raise NewerDatabase if a newer version prepared it, or applied migrations unknown here."""
    recorded = _recorded_version()
    migrations = _unknown_migrations()
    if migrations or (recorded and _order(recorded) > _order(settings.VERSION)):
        newer = (
            f"version {recorded}" if recorded not in ("", settings.VERSION) else "a newer version"
        )
        unknown = f", which does not have the migrations {migrations}" if migrations else ""
        raise NewerDatabase(
            f"{newer} of schedweb has used this database, and this is version "
            f"{settings.VERSION}{unknown}. Start the newer version, or restore a backup from "
            "before the upgrade. Nothing was changed."
        )


def exit_with_newer_database() -> None:
    """End this process if a newer version has prepared the database.

    One that starts while the database does not respond goes on: it was checked when it was
    prepared.
    """
    try:
        refuse_newer_database()
    except NewerDatabase as problem:
        sys.exit(f"schedweb: {problem}")
    except OperationalError as error:
        log.warning("the version of the database is not known yet: %s", error)
    finally:
        connection.close()


def _order(version: str) -> tuple[int, ...]:
    """Of a release such as 1.10.2: its numbers."""
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _unknown_migrations() -> str:
    """The applied migrations that this version does not have."""
    loader = MigrationLoader(connection)
    known = set(loader.disk_migrations)
    for migration in loader.disk_migrations.values():
        known.update(migration.replaces)
    # an app that is no longer installed is not a sign of a newer version
    newer = sorted(
        key
        for key in loader.applied_migrations
        if key[0] in loader.migrated_apps and key not in known
    )
    names = [f"{app}.{name}" for app, name in newer[:_LISTED]]
    more = f" and {len(newer) - _LISTED} more" if len(newer) > _LISTED else ""
    return ", ".join(names) + more

"""Whether this version of the code can open the database."""

from __future__ import annotations

from django.db import connection
from django.db.migrations.loader import MigrationLoader

#: Migrations that a message lists.
_LISTED = 3


class NewerDatabase(Exception):
    """A newer version has migrated the database; the message names its migrations."""


def refuse_newer_database() -> None:
    """Raise NewerDatabase if migrations were applied that this version does not have."""
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
    if newer:
        names = [f"{app}.{name}" for app, name in newer[:_LISTED]]
        more = f" and {len(newer) - _LISTED} more" if len(newer) > _LISTED else ""
        raise NewerDatabase(
            "a newer version of schedweb has used this database: this version does not have the "
            f"migrations {', '.join(names)}{more}. Start the newer version, or restore a backup "
            "from before the upgrade. Nothing was changed."
        )

"""``manage.py prepare``: prepare the database for this version."""

from __future__ import annotations

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from apps.administration.webhooks.service import encrypt_anew
from apps.cluster.partitions import daily
from apps.engine.workers import heartbeat
from schedweb import broker
from schedweb.config import load
from schedweb.versions import NewerDatabase, record_version, refuse_newer_database

ADMIN = "admin"


class Command(BaseCommand):
    # System checks load every view, which would slow down each start.
    requires_system_checks: list[str] = []
    help = "Migrate, install the broker's schema, create the first user and the demo cluster."

    def handle(self, *args: Any, **options: Any) -> None:
        _check_plugins()
        _check_version()
        upgrade()
        record_version()
        # After a long downtime; while the site runs, beat does this.
        daily.prepare_all()
        if not settings.CONFIG.broker_url:
            broker.install()
            broker.declare_queue(settings.CELERY_TASK_DEFAULT_QUEUE)
            broker.drop_orphaned_queues()
        if settings.SECRET_KEY_FALLBACKS:
            encrypt_anew()
        # Old heartbeats are of an earlier run; running processes send new ones within seconds.
        heartbeat.expire()
        if not User.objects.exists():
            # The user last: if a first start fails before this, the next start is a first start.
            call_command("create_demo")
            self._create_admin()

    def _create_admin(self) -> None:
        given = load().admin_password
        password = given or secrets.token_urlsafe(12)
        User.objects.create_superuser(ADMIN, password=password)
        shown = "the password given in SCHEDWEB_ADMIN_PASSWORD" if given else f"password {password}"
        self.stdout.write(f"Created the first user: {ADMIN}, {shown}")


def upgrade() -> None:
    """Apply all migrations in one transaction: after a failure the earlier version still starts."""
    try:
        with transaction.atomic():
            call_command("migrate", interactive=False, verbosity=0)
    except Exception as error:
        raise CommandError(
            f"the database could not be upgraded: {error}. Nothing was changed: the version that "
            "has used it until now can still start."
        ) from error


def _check_version() -> None:
    """Stop before older code writes into tables that it does not know."""
    try:
        refuse_newer_database()
    except NewerDatabase as problem:
        raise CommandError(str(problem)) from problem


def _check_plugins() -> None:
    """Report invalid SCHEDWEB_PLUGINS here instead of in every worker's log."""
    if settings.SCHEDWEB_PLUGINS:
        from apps.engine.profiles.plugins import custom_plugins

        try:
            custom_plugins()
        except ImproperlyConfigured as problem:
            raise CommandError(str(problem)) from problem

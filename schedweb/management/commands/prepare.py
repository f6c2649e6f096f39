"""``manage.py prepare``: bring the database to where this version can run on it."""

from __future__ import annotations

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from apps.controlplane.partitions import daily
from apps.controlplane.workers import heartbeat
from schedweb import broker

ADMIN = "admin"


class Command(BaseCommand):
    # They load every view; this is on the way of each start.
    requires_system_checks: list[str] = []
    help = "Migrate, install the broker's schema, make the first user and the demo cluster."

    def handle(self, *args: Any, **options: Any) -> None:
        _check_plugins()
        call_command("migrate", interactive=False, verbosity=0)
        # After a long rest; while the house runs, beat sees to it.
        daily.prepare_all()
        if not settings.CONFIG.broker_url:
            broker.install()
            broker.declare(settings.CELERY_TASK_DEFAULT_QUEUE)
            broker.sweep()
        # What is known is of an earlier run; who lives says so again within seconds.
        heartbeat.distrust()
        if not User.objects.exists():
            # The user last: a first start that failed half-way is a first start again.
            call_command("create_demo")
            self._create_admin()

    def _create_admin(self) -> None:
        given = settings.CONFIG.admin_password
        password = given or secrets.token_urlsafe(12)
        User.objects.create_superuser(ADMIN, password=password)
        shown = "the password given in SCHEDWEB_ADMIN_PASSWORD" if given else f"password {password}"
        self.stdout.write(f"Created the first user: {ADMIN}, {shown}")


def _check_plugins() -> None:
    """Say now which of SCHEDWEB_PLUGINS cannot be used, instead of in every worker's log."""
    if settings.SCHEDWEB_PLUGINS:
        from apps.controlplane.profiles.plugins import custom_plugins

        try:
            custom_plugins()
        except ImproperlyConfigured as problem:
            raise CommandError(str(problem)) from problem

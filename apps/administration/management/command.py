"""The base class of the management commands."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection

from apps.cluster.errors import ApiError
from apps.cluster.log.announce import announcer
from apps.cluster.models import Cluster
from apps.cluster.queries import clusters
from apps.people.audit.caller import Caller, calling
from apps.scheduler.config.errors import ConfigError

#: The user that the change log and the audit log record for what a command does.
USER = "command line"
COMMAND_LINE = Caller(name=USER)


class ControlPlaneCommand(BaseCommand):
    """A command that reports errors in one line and announces its changes before it ends."""

    #: Django's checks load all views, half of the time of a short command; `make check` runs them.
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            connection.ensure_connection()
        except OperationalError as error:
            raise CommandError(
                "cannot connect to the database: is `make up` running with the same SCHEDWEB_DATA?"
                f" ({str(error).strip()})"
            ) from error
        try:
            with calling(COMMAND_LINE):
                self.run(**options)
        except ApiError as error:
            raise CommandError(error.message) from error
        except ConfigError as error:
            # for example of a profile with a plugin that is not in SCHEDWEB_PLUGINS here
            raise CommandError(f"the configuration of the scheduler: {error}") from error
        finally:
            announcer.flush(5.0)

    def run(self, **options: Any) -> None:
        """Run the command; an ApiError is reported as a CommandError."""
        raise NotImplementedError

    @staticmethod
    def get_cluster(name: str) -> Cluster:
        """The cluster with this name; the CommandError lists the existing clusters."""
        cluster = Cluster.objects.filter(name=name).first()
        if cluster is None:
            known = ", ".join(clusters().values_list("name", flat=True))
            raise CommandError(f"cluster {name!r} not found; existing clusters: {known or 'none'}")
        return cluster

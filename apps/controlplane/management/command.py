"""What the command line doors have in common."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection

from apps.cluster.errors import ApiError
from apps.cluster.log.announce import announcer
from apps.cluster.models import Cluster
from apps.cluster.queries import clusters

#: Who changed something, where the change log names a user.
USER = "command line"


class ControlPlaneCommand(BaseCommand):
    """A command that tells refusals in one line and announces its changes before it ends."""

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            connection.ensure_connection()
        except OperationalError as error:
            raise CommandError(
                "the database cannot be reached: is `make up` running, on the same SCHEDWEB_DATA?"
                f" ({str(error).strip()})"
            ) from error
        try:
            self.run(**options)
        except ApiError as refusal:
            raise CommandError(refusal.message) from refusal
        finally:
            announcer.flush(5.0)

    def run(self, **options: Any) -> None:
        """Do the work; an ApiError becomes the command's error."""
        raise NotImplementedError

    @staticmethod
    def cluster(name: str) -> Cluster:
        """The cluster of this name; CommandError names those there are."""
        found = Cluster.objects.filter(name=name).first()
        if found is None:
            known = ", ".join(clusters().values_list("name", flat=True))
            raise CommandError(f"no cluster {name!r}; there are: {known or 'none'}")
        return found

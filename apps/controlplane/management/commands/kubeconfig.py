"""manage.py kubeconfig NAME --user USER: print a kubeconfig for a mock cluster."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from apps.controlplane.clusters.kubeconfig import NoAuthority, build_kubeconfig
from apps.controlplane.management.command import ControlPlaneCommand


class Command(ControlPlaneCommand):
    help = "Print a kubeconfig with the https server URL, certificate authority and bearer token."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--user", required=True, help="the user whose token it contains")

    def run(self, **options: Any) -> None:
        cluster = self.get_cluster(options["name"])
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"no user {options['user']!r}")
        try:
            self.stdout.write(build_kubeconfig(cluster, user), ending="")
        except NoAuthority as error:
            raise CommandError(error.message) from error

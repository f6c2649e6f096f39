"""manage.py kubeconfig NAME --user USER: print a kubeconfig for a mock cluster."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from apps.controlplane.clusters.kubeconfig import ROOTS, NoAuthority, build_kubeconfig
from apps.controlplane.management.command import ControlPlaneCommand


class Command(ControlPlaneCommand):
    help = "Print a kubeconfig with the https server URL, certificate authority and bearer token."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--user", required=True, help="the user whose token it contains")
        parser.add_argument(
            "--root",
            choices=ROOTS,
            nargs="?",
            const="sni",
            help="a server URL without a path, for tools that drop it (Helm, kubectl proxy, "
            "kubectl get --raw before 1.33): the cluster is named by the TLS server name (sni, the "
            "default), or by the host, which must then resolve",
        )

    def run(self, **options: Any) -> None:
        cluster = self.get_cluster(options["name"])
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"no user {options['user']!r}")
        try:
            self.stdout.write(build_kubeconfig(cluster, user, options["root"]), ending="")
        except NoAuthority as error:
            raise CommandError(error.message) from error

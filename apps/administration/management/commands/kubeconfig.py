"""manage.py kubeconfig NAME --user USER: print a kubeconfig with a new token of the user."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from apps.administration.clusters.kubeconfig import ROOTS, TokenOptions, create_kubeconfig
from apps.administration.management.command import ControlPlaneCommand
from apps.people.accounts import user_named
from apps.people.tokens import in_days


class Command(ControlPlaneCommand):
    help = "Print a kubeconfig with the https server URL, certificate authority and bearer token."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--user", required=True, help="the user who gets a token in it")
        parser.add_argument("--name-of-token", help="by default it is named after the cluster")
        parser.add_argument("--days", type=int, help="the token expires after so many days")
        parser.add_argument("--read-only", action="store_true", help="the token only reads")
        parser.add_argument(
            "--only-cluster", action="store_true", help="the token reaches no other cluster"
        )
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
        token_options = TokenOptions(
            options["name_of_token"] or "",
            in_days(options["days"]),
            options["read_only"],
            options["only_cluster"],
        )
        user = user_named(options["user"])
        text = create_kubeconfig(cluster, user, options["root"], token_options)
        self.stdout.write(text, ending="")

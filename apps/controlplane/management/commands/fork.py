"""manage.py fork CLUSTER NAME: a new cluster with the objects of another one at a moment."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from apps.controlplane.clusters.forking import fork_cluster
from apps.controlplane.management.command import USER, ControlPlaneCommand
from apps.controlplane.past.moments import parse_selected_moment


class Command(ControlPlaneCommand):
    help = "Fork a cluster: a paused one with its objects at a moment, and the same history."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("cluster")
        parser.add_argument("name", help="of the fork")
        moment = parser.add_mutually_exclusive_group()
        moment.add_argument("--version", dest="at_version", help="a version of the cluster")
        moment.add_argument("--at", help="a time: 1h, 09:00, 2026-11-22T09:00")
        moment.add_argument("--decision", help="the number of a decision")

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # --version is the version of the cluster here, not Django's
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def run(self, **options: Any) -> None:
        source = self.get_cluster(options["cluster"])
        given = {"version": options["at_version"], "at": options["at"]}
        given["decision"] = options["decision"]
        moment = parse_selected_moment(source, {key: each for key, each in given.items() if each})
        fork = fork_cluster(source, moment, options["name"], user=USER)
        self.stdout.write(
            f"Cluster {fork.name} forked from {source.name} at version {moment.version}. "
            "It is paused."
        )

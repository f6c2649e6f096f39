"""manage.py fork CLUSTER NAME: a new cluster with the objects of another one at a moment."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.administration.clusters.forking import fork_cluster
from apps.administration.management.command import USER, ControlPlaneCommand
from apps.studies.past.past_version import BeforeBeginning, Forgotten, parse_past_version


class Command(ControlPlaneCommand):
    help = "Fork a cluster: a paused one with its objects at a moment, and the same history."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("cluster")
        parser.add_argument("name", help="of the fork")
        moment = parser.add_mutually_exclusive_group()
        # --version is Django's
        moment.add_argument("--at-version", metavar="NUMBER", help="fork at this version")
        moment.add_argument("--at", metavar="TIME", help="fork at this time (UTC)")
        moment.add_argument("--decision", metavar="ID", help="fork before this decision")

    def run(self, **options: Any) -> None:
        source = self.get_cluster(options["cluster"])
        given = {"version": options["at_version"], "at": options["at"]}
        given["decision"] = options["decision"]
        try:
            moment = parse_past_version(source, {key: each for key, each in given.items() if each})
        except (BeforeBeginning, Forgotten) as error:
            earliest = f"--at-version {error.earliest.version}"
            raise CommandError(
                f"{error.message}\nTry: manage.py fork {source.name} {options['name']} {earliest}"
            ) from error
        fork = fork_cluster(source, moment, options["name"], user=USER)
        self.stdout.write(
            f"Cluster {fork.name} forked from {source.name} at version {moment.version}. "
            "It is paused."
        )

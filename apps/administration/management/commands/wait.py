"""manage.py wait NAME: wait until a cluster is quiet."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from apps.administration.management.command import ControlPlaneCommand
from apps.engine import queries
from apps.engine.workers import waiting


class Command(ControlPlaneCommand):
    help = (
        "Wait until the loop has processed the current change log and no pod is active, in flight "
        "or backing off. Exits with 1 after the timeout."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--timeout", type=float, default=600.0, help="seconds (default: 600)")

    def run(self, **options: Any) -> None:
        cluster = self.get_cluster(options["name"])
        ignored = queries.list_pods_of_other_schedulers(cluster).count()
        states = waiting.loop_states(cluster, timeout=options["timeout"], ignored_pods=ignored)
        state = None
        with tqdm(desc="waiting", unit=" pods", disable=None) as bar:
            try:
                for state in states:
                    bar.total = max(bar.total or 0, state.waiting_pods)
                    bar.update(bar.total - state.waiting_pods - bar.n)
            except TimeoutError:
                raise CommandError(
                    f"{cluster.name} is not quiet after {options['timeout']:g} s: {state}"
                ) from None
        self.stdout.write(f"{cluster.name} is quiet")

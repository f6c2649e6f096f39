"""manage.py placements NAME: the node and the score of every pod, as CSV."""

from __future__ import annotations

import csv
from typing import Any

from django.core.management.base import CommandParser

from apps.administration.management.command import ControlPlaneCommand
from apps.engine import queries
from apps.engine.exported_files import format_cell

COLUMNS = ("pod", "node", "total_score", "feasible_nodes", "tied_nodes", "message")


class Command(ControlPlaneCommand):
    help = "Print each pod's node, score, feasible and tied nodes, or why it is pending."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    def run(self, **options: Any) -> None:
        writer = csv.writer(self.stdout)
        writer.writerow(COLUMNS)
        for placement in queries.list_placements(self.get_cluster(options["name"])):
            writer.writerow(
                [
                    placement.pod,
                    placement.node,
                    "" if placement.total_score is None else placement.total_score,
                    placement.feasible_nodes,
                    placement.tied_nodes or "",
                    format_cell(placement.message),
                ]
            )

"""manage.py export_decisions [CLUSTER] [--format csv|jsonl|parquet] [--output FILE] [filters]."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandError, CommandParser

from apps.controlplane.history import past_clusters
from apps.controlplane.ledger import export, finding
from apps.controlplane.management.command import ControlPlaneCommand


class Command(ControlPlaneCommand):
    help = "Export decisions, newest first, as CSV, JSON Lines or Parquet."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("cluster", nargs="?", help="name of a cluster (default: all)")
        parser.add_argument("--cluster-id", type=int, help="id of a deleted cluster")
        parser.add_argument("--format", choices=list(export.FORMATS), default="csv")
        parser.add_argument("--output", type=Path, help="file to write (default: standard output)")
        parser.add_argument("--limit", type=int, help="maximum number of decisions")
        for parameter in finding.PARAMETERS:
            option = "--" + parameter.name.replace("_", "-")
            parser.add_argument(option, help=parameter.meaning.replace("%", "%%"))

    def run(self, **options: Any) -> None:
        filters = finding.parse(options)
        batches = export.batches(
            filters, cluster_id=self._get_cluster_id(options), limit=options["limit"]
        )
        chunks = export.FORMATS[options["format"]].write(batches)
        if options["output"] is None:
            _write(chunks, sys.stdout.buffer)
            return
        try:
            with options["output"].open("wb") as file:
                _write(chunks, file)
        except OSError as error:
            raise CommandError(f"{options['output']}: {error.strerror}") from error

    def _get_cluster_id(self, options: dict[str, Any]) -> int | None:
        if options["cluster"]:
            return self.get_cluster(options["cluster"]).pk
        if options["cluster_id"] is None:
            return None
        return past_clusters.get_past_cluster(options["cluster_id"]).pk


def _write(chunks: Any, file: BinaryIO) -> None:
    for chunk in chunks:
        file.write(chunk)
    file.flush()

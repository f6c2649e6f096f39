"""manage.py export_decisions [CLUSTER] [--format FORMAT] [--output FILE] [filters]."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandError, CommandParser

from apps.administration.management.command import ControlPlaneCommand
from apps.engine.ledger import export, finding
from apps.studies.explanations.exporting import EXTENTS, SCORE_INPUTS, add_score_inputs
from apps.studies.history import past_clusters


class Command(ControlPlaneCommand):
    help = "Export decisions, newest first, as CSV, JSON, JSON Lines or Parquet."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("cluster", nargs="?", help="name of a cluster (default: all)")
        parser.add_argument("--cluster-id", type=int, help="id of a deleted cluster")
        parser.add_argument("--format", choices=list(export.FORMATS), default="csv")
        parser.add_argument("--output", type=Path, help="file to write (default: standard output)")
        parser.add_argument("--limit", type=int, help="maximum number of decisions")
        parser.add_argument(
            "--score-inputs", choices=EXTENTS, help="add the inputs of scores of these nodes (slow)"
        )
        for parameter in finding.PARAMETERS:
            option = "--" + parameter.name.replace("_", "-")
            parser.add_argument(option, help=parameter.meaning.replace("%", "%%"))

    def run(self, **options: Any) -> None:
        cluster = self.get_cluster(options["cluster"]) if options["cluster"] else None
        filters = finding.parse(options, now=cluster.now() if cluster is not None else None)
        number = cluster.pk if cluster is not None else self._get_past_id(options["cluster_id"])
        batches = export.batches(filters, cluster_id=number, limit=options["limit"])
        columns: Sequence[str] = export.FIELDS
        if extent := options["score_inputs"]:
            columns, batches = (*columns, SCORE_INPUTS), add_score_inputs(batches, extent)
        chunks = export.FORMATS[options["format"]].write(columns, batches)
        if options["output"] is None:
            _write(chunks, sys.stdout.buffer)
            return
        try:
            with options["output"].open("wb") as file:
                _write(chunks, file)
        except OSError as error:
            raise CommandError(f"{options['output']}: {error.strerror}") from error

    def _get_past_id(self, number: int | None) -> int | None:
        return None if number is None else past_clusters.get_past_cluster(number).pk


def _write(chunks: Any, file: BinaryIO) -> None:
    for chunk in chunks:
        file.write(chunk)
    file.flush()

"""manage.py conformance PATH...: compare decisions with recorded ones of kube-scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.cluster.admission.conformance import check_apidefaults
from apps.scheduler.conformance.options import Options
from apps.scheduler.conformance.runner import RUNNERS, run


class Command(BaseCommand):
    help = (
        "Replay recorded families of cases (*.jsonl.gz files, or directories of them) and print "
        "one line per family and the total. Exits with 1 on any mismatch. Needs no database."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument(
            "--default-profile",
            action="store_true",
            help="only replay cases without a configuration",
        )
        parser.add_argument(
            "--no-postfilter", action="store_true", help="do not compare the results of PostFilter"
        )
        parser.add_argument(
            "--show", default="", metavar="ID", help="print the differences of one case"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        missing = [str(path) for path in options["paths"] if not path.exists()]
        if missing:
            raise CommandError(f"no such file or directory: {', '.join(missing)}")
        report = run(
            options["paths"],
            Options(
                default_profile=options["default_profile"],
                no_postfilter=options["no_postfilter"],
                show=options["show"],
            ),
            runners={
                **RUNNERS,
                "apidefaults": lambda case, expect, _: check_apidefaults(case, expect),
            },
            print_line=self.stdout.write,
        )
        if not report.cases:
            raise CommandError("no recorded cases found")
        if report.mismatches:
            raise SystemExit(1)

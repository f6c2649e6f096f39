"""manage.py conformance PATH...: replay recorded answers of the real kube-scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.cluster.admission.conformance import check_apidefaults
from apps.scheduler.conformance.options import Options
from apps.scheduler.conformance.runner import RUNNERS, run


class Command(BaseCommand):
    help = (
        "Replay recorded families (*.jsonl.gz, or folders of them) and print one line a family "
        "and the total. Exit code 0 only without a mismatch. Needs no database."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument(
            "--default-profile", action="store_true", help="only cases without a configuration"
        )
        parser.add_argument(
            "--no-postfilter", action="store_true", help="do not compare what PostFilter said"
        )
        parser.add_argument(
            "--show", default="", metavar="ID", help="print the differences of one case"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        missing = [str(path) for path in options["paths"] if not path.exists()]
        if missing:
            raise CommandError(f"no such file or folder: {', '.join(missing)}")
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
            raise CommandError("no recorded case was found")
        if report.mismatches:
            raise SystemExit(1)

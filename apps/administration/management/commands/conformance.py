"""manage.py conformance PATH...: compare decisions with recorded ones of kube-scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.cluster.admission.conformance import check_apidefaults
from apps.conformance.kinds import KINDS, CaseKind
from apps.conformance.options import Options
from apps.conformance.runner import run

#: what the API server does to a pod; it is compared here because the core has no admission
ADMISSION = CaseKind(
    "apidefaults",
    frozenset({"pod", "priorityClasses"}),
    frozenset({"pod"}),
    lambda case, expect, options: check_apidefaults(case, expect),
)


class Command(BaseCommand):
    help = (
        "Replay recorded families of cases (*.jsonl.gz files, or directories of them) and print "
        "one line per family and the total. Exits with 1 on any mismatch, and if nothing could be "
        "compared in a case. Needs no database."
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
        try:
            report = run(
                options["paths"],
                Options(
                    default_profile=options["default_profile"],
                    no_postfilter=options["no_postfilter"],
                    show=options["show"],
                ),
                kinds=(*KINDS, ADMISSION),
                print_line=self.stdout.write,
            )
        except ValueError as error:
            raise CommandError(str(error)) from error
        if not report.cases:
            raise CommandError("no recorded cases found")
        if report.mismatches:
            raise SystemExit(1)

"""manage.py replay CLUSTER: a span of its life again, unchanged or under something else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
from django.core.management.base import CommandError, CommandParser

from apps.administration.management.command import ControlPlaneCommand
from apps.administration.management.lab_options import describe, parse_gate, read_file
from apps.scheduler.config import ConfigError
from apps.studies.replay.plots import PLOTS, draw
from apps.studies.replay.replaying import replay
from apps.studies.replay.report import TABLES, Figures, ReplayReport, Waits
from apps.studies.replay.span import ReplayRequest

_ROWS = (
    ("attempts", "attempts"),
    ("bound", "pods bound"),
    ("pending", "pods pending at the end"),
    ("preempted", "pods preempted"),
    ("waiting_p50", "seconds until bound, p50"),
    ("waiting_p99", "seconds until bound, p99"),
)


class Command(ControlPlaneCommand):
    help = "Replay what happened to a cluster under another configuration. Writes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the cluster")
        parser.add_argument("--since", default="", help="a version or a time (UTC)")
        parser.add_argument("--until", default="", help="a version or a time (UTC)")
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument("--configuration", metavar="FILE", help="schedule with this file")
        chosen.add_argument("--revision", type=int, help="schedule with this revision")
        parser.add_argument(
            "--feature-gate", action="append", default=[], metavar="NAME=true", help="set a gate"
        )
        parser.add_argument("--seed", type=int, help="draw anew among equal nodes")
        output = parser.add_mutually_exclusive_group()
        output.add_argument("--json", action="store_true", help="the report as JSON")
        output.add_argument(
            "--csv",
            nargs="?",
            const="differences",
            choices=tuple(TABLES),
            help="the differences as CSV, or the figures or series",
        )
        output.add_argument(
            "--plot", type=Path, metavar="FILE", help="draw the series into a file .svg or .png"
        )
        parser.add_argument("--check", action="store_true", help="exit with 1 if a pod differs")

    def run(self, **options: Any) -> None:
        plot: Path | None = options["plot"]
        if plot is not None and plot.suffix[1:] not in PLOTS:
            raise CommandError(f"--plot: {plot.name} must end with .svg or .png")
        request = ReplayRequest(
            since=options["since"],
            until=options["until"],
            configuration=read_file(options["configuration"]) if options["configuration"] else "",
            revision=options["revision"],
            feature_gates=dict(parse_gate(each) for each in options["feature_gate"]),
            seed=options["seed"],
        )
        try:
            report = replay(self.get_cluster(options["name"]), request, progress=self._progress)
        except ConfigError as error:
            raise describe(error) from error
        if options["json"]:
            self.stdout.write(msgspec.json.encode(report).decode())
        elif options["csv"]:
            self.stdout.write(TABLES[options["csv"]](report), ending="")
        elif plot is not None:
            plot.write_bytes(draw(report, plot.suffix[1:]))
        else:
            self._print(report)
        if options["check"] and report.differs:
            raise CommandError(f"{report.differing:,} pods differ")

    def _progress(self, done: int, total: int) -> None:
        if sys.stderr.isatty() and (done % 100 == 0 or done == total):
            self.stderr.write(f"\r{done:,} of {total:,} decisions", ending="")

    def _print(self, report: ReplayReport) -> None:
        self.stdout.write(
            f"Cluster {report.cluster}, versions {report.since_version} to {report.until_version}; "
            f"changed: {report.changed}."
        )
        for effect in report.effects:
            self.stdout.write(f"  {effect}")
        if report.baseline is not None:
            self.stdout.write(
                "Baseline: the recorded configuration, continued in the same way from the first "
                "difference on."
            )
        names = [name for name, _, _ in report.lives]
        self.stdout.write(" " * 29 + "".join(f"{name:>12} " for name in names).rstrip())
        for name, label in _ROWS:
            values = [_value(figures, name) for _, figures, _ in report.lives]
            self.stdout.write(f"  {label:26}" + "".join(f" {each:>12}" for each in values))
        self._print_priorities(report)
        for each in report.differences:
            follows = f" (follows from {each.follows})" if each.follows else ""
            self.stdout.write(
                f"  {each.namespace}/{each.name}: {each.node_before or 'pending'} -> "
                f"{each.node_after or 'pending'}: {each.cause}{follows}"
            )
        self.stdout.write(
            f"{report.differing:,} pods differ; {report.equal:,} of {report.decisions:,} recorded "
            "decisions were made again with the same outcome before the first difference."
            if report.differs
            else f"Nothing differs in {report.decisions:,} decisions."
        )

    def _print_priorities(self, report: ReplayReport) -> None:
        if len(report.priorities) < 2:
            return
        for each in report.priorities:
            name = each.priority_class or "no class"
            self.stdout.write(f"  priority {each.priority} ({name})")
            for column, label in _ROWS[1:]:
                values = [_value(waits, column) for _, waits in each.lives]
                self.stdout.write(f"    {label:24}" + "".join(f" {each:>12}" for each in values))


def _value(figures: Figures | Waits, name: str) -> str:
    value = getattr(figures, name)
    return "-" if value is None else f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"

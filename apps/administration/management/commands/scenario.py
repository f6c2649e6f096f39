"""manage.py scenario: runs scenarios in memory, and compares recorded decisions."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import msgspec
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.cluster.errors import ApiError
from apps.studies.importers.source_files import Files
from apps.studies.scenarios.language.checking import count_runs
from apps.studies.scenarios.language.reading import Source
from apps.studies.scenarios.recorded_decisions.report import compare_file, describe
from apps.studies.scenarios.results.junit import write_junit
from apps.studies.scenarios.results.markdown import write_markdown
from apps.studies.scenarios.results.presenting import present_scenario
from apps.studies.scenarios.results.text import describe_scenario
from apps.studies.scenarios.running.run import Variation
from apps.studies.scenarios.running.sweeping import load_scenario, run_scenario

#: An expectation is not met; a scenario cannot be run.
FAILED, INVALID = 1, 2
#: The progress is shown so often.
_REPORT_SECONDS = 0.2


class Command(BaseCommand):
    help = (
        "Run scenarios in memory; no stack and no database is needed. "
        "Exits with 1 if an expectation is not met or a decision differs, with 2 for a wrong file."
    )
    requires_system_checks = ()
    _reported_at = 0.0

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        compare = actions.add_parser(
            "compare", help="compare decisions that kube-scheduler-simulator recorded with ours"
        )
        compare.add_argument("files", nargs="+", metavar="FILE", help="a record or a snapshot")
        compare.add_argument(
            "--configuration", metavar="FILE", help="KubeSchedulerConfiguration of the recording"
        )
        compare.add_argument("--json", metavar="FILE", help="write the reports; - for stdout")
        for name, text in (("run", "run scenarios"), ("check", "only read and check them")):
            action = actions.add_parser(name, help=text)
            action.add_argument("files", nargs="+", metavar="FILE", help="YAML; - for stdin")
            if name == "run":
                action.add_argument("--junit", metavar="FILE", help="write JUnit XML")
                action.add_argument(
                    "--json", metavar="FILE", help="write all results; - for stdout"
                )
                action.add_argument(
                    "--summary", metavar="FILE", help="write Markdown, for a pull request"
                )
                action.add_argument(
                    "--no-baseline",
                    action="store_true",
                    help="leave notWorse out, to write the results that it compares with",
                )
                action.add_argument("--seed", type=int, help="run with this seed alone")
                action.add_argument("--quiet", action="store_true", help="no progress")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "compare":
            self._compare(options)
            return
        results = []
        for name in options["files"]:
            try:
                results += self._handle_file(name, options)
            except ApiError as error:
                raise CommandError(error.message, returncode=INVALID) from error
        if options["action"] == "check":
            return
        if options["junit"]:
            _write(options["junit"], write_junit(results))
        if options["summary"]:
            _write(options["summary"], write_markdown(results))
        self._write_json(results, options["json"])
        failed = sum(not result["passed"] for result in results)
        if failed:
            raise CommandError(f"{failed} of {len(results)} scenarios failed", returncode=FAILED)

    def _compare(self, options: dict[str, Any]) -> None:
        """Compare the decisions in each file; fails if one differs."""
        reports = []
        configuration = _read(options["configuration"]) if options["configuration"] else ""
        for name in options["files"]:
            try:
                reports.append(compare_file(_read_bytes(name), name, configuration))
            except ApiError as error:
                raise CommandError(error.message, returncode=INVALID) from error
            if options["json"] != "-":
                for line in describe(reports[-1]):
                    self.stdout.write(line)
        self._write_json(reports, options["json"])
        different = sum(each["different"] for each in reports)
        if different:
            total = sum(each["decisions"] for each in reports)
            raise CommandError(f"{different} of {total} decisions differ", returncode=FAILED)

    def _write_json(self, results: list[dict[str, Any]], name: str | None) -> None:
        """Write results to a file, or to stdout for "-"; nowhere without a name."""
        if not name:
            return
        text = msgspec.json.format(msgspec.json.encode(results)).decode()
        if name == "-":
            self.stdout.write(text)
        else:
            _write(name, text)

    def _handle_file(self, name: str, options: dict[str, Any]) -> list[dict[str, Any]]:
        """Run one file; the presented result."""
        source = Source(_read(name), "stdin" if name == "-" else name)
        scenario = load_scenario(source)
        if options["action"] == "check":
            self.stdout.write(f"{source.file}: {count_runs(scenario)} runs")
            return []
        if options["seed"] is not None:
            sweep = msgspec.structs.replace(scenario.sweep, seeds=[options["seed"]])
            scenario = msgspec.structs.replace(scenario, sweep=sweep)
        if options["no_baseline"]:
            kept = [each for each in scenario.expectations if each.not_worse is None]
            scenario = msgspec.structs.replace(scenario, expectations=kept)
        files = Files(Path.cwd() if name == "-" else Path(name).parent)
        show = self.stderr.isatty() and not options["quiet"]
        finished = run_scenario(scenario, source, files, self._report if show else _ignore)
        if show:
            self.stderr.write("\r\033[K", ending="")
        result = present_scenario(finished)
        if options["json"] != "-":
            for line in describe_scenario(result):
                self.stdout.write(line)
        return [result]

    def _report(self, done: int, variation: Variation, seconds: float) -> None:
        now = time.monotonic()
        if now - self._reported_at < _REPORT_SECONDS:
            return
        self._reported_at = now
        line = f"run {done + 1} ({variation.name}): {seconds:,.0f} simulated seconds"
        self.stderr.write(f"\r\033[K{line}", ending="")


def _ignore(done: int, variation: Variation, seconds: float) -> None:
    """No progress is shown."""


def _read_bytes(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error}", returncode=INVALID) from error


def _read(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"cannot read {name}: {error}", returncode=INVALID) from error


def _write(name: str, text: str) -> None:
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {name}: {error}", returncode=INVALID) from error

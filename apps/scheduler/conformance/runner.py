"""Run families of recorded cases: one line per family, and the total."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from apps.scheduler.conformance.gang import run_gang_case
from apps.scheduler.conformance.hints import run_hints_case
from apps.scheduler.conformance.options import Options
from apps.scheduler.conformance.queue import run_queue_case
from apps.scheduler.conformance.scheduling import compare_scheduling
from apps.scheduler.conformance.selectors import run_cel_case

Json = Mapping[str, Any]
#: (case, expect, options) -> differences, one line each
Compare = Callable[[Json, Json, Options], list[str]]

EVERYTHING: Final = Options()
#: families whose cases are not scheduling cases
RUNNERS: Final[dict[str, Compare]] = {
    "queue": lambda case, expect, options: run_queue_case(case, expect),
    "gang": lambda case, expect, options: run_gang_case(case, expect),
    "hints": lambda case, expect, options: run_hints_case(case, expect),
    "cel": lambda case, expect, options: run_cel_case(case, expect),
}
#: recorded for apps.cluster, not for the core: the admission of pods by the API server
NOT_OURS: Final = frozenset({"apidefaults"})


@dataclass(slots=True)
class FamilyReport:
    family: str
    cases: int = 0
    #: case id -> differences; only cases with any
    mismatches: dict[str, list[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.family}: {self.cases} cases, {len(self.mismatches)} mismatches"


@dataclass(slots=True)
class Report:
    families: list[FamilyReport] = field(default_factory=list)

    @property
    def cases(self) -> int:
        return sum(family.cases for family in self.families)

    @property
    def mismatches(self) -> int:
        """Number of cases with any difference."""
        return sum(len(family.mismatches) for family in self.families)

    def __str__(self) -> str:
        return f"{self.cases} cases, {self.mismatches} mismatches"


def run(
    paths: Iterable[Path],
    options: Options = EVERYTHING,
    *,
    runners: Mapping[str, Compare] = RUNNERS,
    print_line: Callable[[str], None] = lambda line: None,
) -> Report:
    """Run every ``*.jsonl.gz`` (or all of a folder) in ``paths``; print a line per family.

    ``runners`` compare the families that are not scheduling cases. With ``options.show`` the
    differences of that case are printed as well.
    """
    report = Report()
    for path in _files(paths):
        family = path.name.removesuffix(".jsonl.gz")
        if family in NOT_OURS and family not in runners:
            continue
        found = run_family(family, path, options, runners.get(family, compare_scheduling))
        if not found.cases:
            continue
        report.families.append(found)
        if options.show:
            for difference in found.mismatches.get(options.show, ()):
                print_line(difference)
        print_line(str(found))
    print_line(str(report))
    return report


def run_family(family: str, path: Path, options: Options, compare: Compare) -> FamilyReport:
    report = FamilyReport(family)
    for case, expect in read_cases(path):
        if options.show and case["id"] != options.show:
            continue
        if options.default_profile and "config" in case:
            continue
        report.cases += 1
        differences = compare(case, expect, options)
        if differences:
            report.mismatches[case["id"]] = differences
    return report


def read_cases(path: Path) -> Iterator[tuple[Json, Json]]:
    """(case, expect) of each line."""
    with gzip.open(path, "rb") as lines:
        for line in lines:
            recorded = msgspec.json.decode(line)
            yield recorded["case"], recorded["expect"]


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(path.glob("*.jsonl.gz"))
        else:
            yield path

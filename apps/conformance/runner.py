"""Run families of recorded cases: one line per family, and the total."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from apps.conformance.kinds import KINDS, CaseKind, compare_case, find_uncompared
from apps.conformance.options import Options

Json = Mapping[str, Any]

EVERYTHING: Final = Options()
#: mismatches of one family that are printed with their first difference
_PRINTED: Final = 10


@dataclass(slots=True)
class FamilyReport:
    family: str
    cases: int = 0
    #: case id -> differences; only cases with any
    mismatches: dict[str, list[str]] = field(default_factory=dict)
    #: what was recorded and not compared -> how often
    uncompared: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        counts = f"{self.cases} cases, {len(self.mismatches)} mismatches"
        return f"{self.family}: {counts}{_list_uncompared(self.uncompared)}"


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
        uncompared = sum((family.uncompared for family in self.families), Counter[str]())
        counts = f"{self.cases} cases, {self.mismatches} mismatches"
        return f"{counts}{_list_uncompared(uncompared)}"


def _list_uncompared(uncompared: Counter[str]) -> str:
    listed = ", ".join(f"{what} ({count})" for what, count in sorted(uncompared.items()))
    return f"; not compared: {listed}" if listed else ""


def run(
    paths: Iterable[Path],
    options: Options = EVERYTHING,
    *,
    kinds: Sequence[CaseKind] = KINDS,
    print_line: Callable[[str], None] = lambda line: None,
) -> Report:
    """Run every ``*.jsonl.gz`` (or all below a folder) in ``paths``; print a line per family.

    A line also counts what was recorded and not compared.

    A case in which nothing was compared is a mismatch. The first mismatches of a family are
    printed with one difference each; with ``options.show`` all differences of that case.
    Raises ValueError for a folder or a file without any case.
    """
    report = Report()
    for path in _files(paths):
        family = run_family(path, options, kinds)
        if not family.cases:
            continue
        report.families.append(family)
        for line in _details(family, options):
            print_line(line)
        print_line(str(family))
    print_line(str(report))
    return report


def run_family(path: Path, options: Options, kinds: Sequence[CaseKind]) -> FamilyReport:
    report = FamilyReport(path.name.removesuffix(".jsonl.gz"))
    for case, expect in read_cases(path):
        if options.show and case["id"] != options.show:
            continue
        if options.default_profile and "config" in case:
            report.uncompared["cases with a configuration"] += 1
            continue
        report.cases += 1
        report.uncompared.update(find_uncompared(case, expect, options, kinds))
        differences = compare_case(case, expect, options, kinds)
        if differences:
            report.mismatches[case["id"]] = differences
    return report


def _details(family: FamilyReport, options: Options) -> Iterator[str]:
    if options.show:
        yield from family.mismatches.get(options.show, ())
        return
    for differences in islice(family.mismatches.values(), _PRINTED):
        yield differences[0]
    if len(family.mismatches) > _PRINTED:
        yield f"… and {len(family.mismatches) - _PRINTED} more cases"


def read_cases(path: Path) -> Iterator[tuple[Json, Json]]:
    """(case, expect) of each line; ValueError, which names file and line, if there is none."""
    number = 0
    try:
        with gzip.open(path, "rb") as lines:
            for line in lines:
                number += 1  # not enumerate: the number names a line that fails
                recorded = msgspec.json.decode(line)
                case, expect = recorded["case"], recorded["expect"]
                if not isinstance(case["id"], str):
                    raise TypeError("the id of a case is a string")
                yield case, expect
    except (OSError, EOFError, zlib.error, msgspec.DecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path}, line {number}: not a recorded case: {error!r}") from error
    if not number:
        raise ValueError(f"{path}: no recorded cases")


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            files = sorted(path.rglob("*.jsonl.gz"))
            if not files:
                raise ValueError(f"{path}: no *.jsonl.gz below this folder")
            yield from files
        else:
            yield path

"""The rows of all comparisons with the real thing, as one table.

    python -m tools.truth.table

Each program leaves its total in var/truth/rows; `make truth` removes them first, and prints this
table last. It fails if anything differs, and if a program has left no row though there was
something to compare with. A program that needs more than the real thing, and does not have it, is
skipped, and its row says what it needs.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "var" / "truth"
_ROWS = OUTPUT / "rows"
#: What each program compares, by the name of its row, in the order of `make truth`.
PROGRAMS = {
    "decisions": "decisions",
    "exchanges": "requests over HTTP",
    "documents": "parts of OpenAPI documents",
    "conversions": "custom objects that webhooks convert",
    "published": "published definitions and samples",
    "kubectl": "commands of kubectl",
    "clients": "steps of client libraries",
    "groups": "groups of pods, in steps",
    "batches": "pods in batches, in sequences",
    "stories": "objects and events of controllers",
    "queue": "moves between queues",
    "guest": "bindings of kube-scheduler as a guest",
}
TITLES = ("compared", "equal", "listed", "differing", "unanswered")


@dataclass
class Row:
    """A line of the table."""

    about: str
    compared: int = 0
    #: differ only where docs/differences.md says so
    listed: int = 0
    differing: list[str] = field(default_factory=list)
    #: the real thing fails, or answers otherwise each time
    unanswered: int = 0
    #: why the program was left out, which is no failure
    skipped: str = ""

    @classmethod
    def of_all(cls, about: str, rows: Iterable[Row]) -> Row:
        total = cls(about)
        for row in rows:
            total.compared += row.compared
            total.listed += row.listed
            total.differing += row.differing
            total.unanswered += row.unanswered
        return total

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.about:46}    SKIPPED: {self.skipped}"
        differing = len(self.differing)
        equal = self.compared - self.listed - differing
        counts = (self.compared, equal, self.listed, differing, self.unanswered)
        return f"{self.about:46}" + "".join(f"{count:11}" for count in counts)

    def save(self, program: str) -> int:
        """Leave the row of this program for the table; returns the program's exit status.

        It is 1 if anything differs, and if nothing was compared.
        """
        _ROWS.mkdir(parents=True, exist_ok=True)
        (_ROWS / f"{program}.json").write_text(json.dumps(asdict(self)))
        return 1 if self.differing or not (self.compared or self.skipped) else 0


def skip(program: str, why: str) -> int:
    """Leave a row that says why the program has compared nothing; returns its exit status."""
    print(f"SKIPPED, NOTHING WAS COMPARED: {why}")
    return Row(program, skipped=why).save(program)


def heading(about: str) -> str:
    return f"{about:46}" + "".join(f"{title:>11}" for title in TITLES)


def real_folder() -> Path:
    return Path(os.environ.get("REAL_KUBERNETES") or ROOT.parent / "shared" / "real")


def main() -> int:
    if not real_folder().exists():
        print(f"NOTHING WAS COMPARED: {real_folder()} does not exist (set REAL_KUBERNETES)")
        return 0
    rows, missing = [], []
    print(heading("what"))
    for program, about in PROGRAMS.items():
        file = _ROWS / f"{program}.json"
        if not file.exists():
            missing.append(about)
            print(f"{about:46}{'NOT COMPARED':>14}")
            continue
        rows.append(Row(**{**json.loads(file.read_text()), "about": about}))
        print(rows[-1])
        if not rows[-1].compared and not rows[-1].skipped:
            missing.append(about)
    total = Row.of_all("total", rows)
    print(total)
    return 1 if missing or total.differing else 0


if __name__ == "__main__":
    sys.exit(main())

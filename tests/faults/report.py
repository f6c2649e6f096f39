"""The result of a campaign: a table of the kinds of faults, and a plot of their recoveries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl

from bench.plots import LINES, STYLE, figure_of, save

#: recoveries in seconds; None: no pod was bound afterwards
Recoveries = Sequence[float | None]
_HEAD = ("fault", "count", "violations in its runs", "not recovered", "p50", "p99", "longest")
_OUTAGES = "outages, from their last fault"


@dataclass
class Campaign:
    """What the faults on one kind of site have led to."""

    kind: str
    #: the kinds of faults and their recoveries
    recoveries: defaultdict[str, list[float | None]] = field(
        default_factory=lambda: defaultdict(list)
    )
    #: of one or more faults that struck before the site had recovered
    outages: list[float | None] = field(default_factory=list)
    #: violations of invariants in the runs in which such a fault struck
    lost: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    #: the load of the machine after each run, per processor
    loads: list[float] = field(default_factory=list)

    def count(self, names: Iterable[str], violations: int) -> None:
        """Add the violations of a run to each kind of fault that struck in it."""
        for name in set(names):
            self.lost[name] += violations

    def table(self) -> str:
        """In Markdown: a row for each kind, then for all, and for outages."""
        everything = [each for found in self.recoveries.values() for each in found]
        # each violation counts once, not for every kind of its run
        rows = [
            *(
                (name, found, str(self.lost[name]))
                for name, found in sorted(self.recoveries.items())
            ),
            ("all", everything, ""),
            (_OUTAGES, self.outages, ""),
        ]
        lines = [" | ".join(_HEAD), " | ".join("---" for _ in _HEAD)]
        lines += [" | ".join((name, *_describe(found, lost))) for name, found, lost in rows]
        return "\n".join(f"| {line} |" for line in lines)

    def draw(self, folder: Path) -> Path:
        """Write the plot: a row for each kind of fault, a mark for each recovery."""
        file = folder / f"{self.kind}.svg"
        colour, marker = LINES[0]
        with mpl.rc_context(STYLE):
            figure, axes = figure_of("seconds until a new pod is bound", "")
            names = sorted(self.recoveries, reverse=True)
            figure.set_figheight(1.5 + 0.3 * len(names))
            for row, name in enumerate(names):
                known = known_of(self.recoveries[name])
                axes.plot(known, [row] * len(known), marker, color=colour, alpha=0.5)
            axes.set_yticks(range(len(names)), names)
            axes.set_xlim(left=0)
            axes.axvline(5, color=LINES[1][0], linestyle="--")
            save(figure, file)
        return file

    def conditions(self) -> str:
        """Where the figures come from."""
        loads = sorted(self.loads) or [0.0]
        return (
            f"{self.kind}: load of the machine {loads[0]:.1f} to {loads[-1]:.1f} for each "
            f"processor, {loads[len(loads) // 2]:.1f} at the median"
        )


def known_of(found: Recoveries) -> list[float]:
    """The recoveries that there were, shortest first."""
    return sorted(each for each in found if each is not None)


def write(campaigns: Iterable[Campaign], folder: Path) -> Path:
    """Write the tables and the plots; returns the file with the tables."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for each in campaigns:
        plot = each.draw(folder)
        parts.append(f"## {each.conditions()}\n\n{each.table()}\n\n![{each.kind}]({plot.name})\n")
    file = folder / "report.md"
    file.write_text("# Faults\n\n" + "\n".join(parts), encoding="utf-8")
    return file


def _describe(found: Recoveries, lost: str) -> Iterable[str]:
    known = known_of(found)
    missing = len(found) - len(known)
    if not known:
        return (str(len(found)), lost, str(missing), "", "", "")
    places = (len(known) // 2, min(len(known) - 1, len(known) * 99 // 100), -1)
    return (str(len(found)), lost, str(missing), *(f"{known[place]:.1f} s" for place in places))

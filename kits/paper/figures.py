"""Figures of scenarios for a publication: `make figures SCENARIO=FILE`, or

    python kits/paper/figures.py results.json FOLDER

`results.json` is what `schedweb scenario run --json` has written. Writes, for each scenario:
`NAME.csv` (a row for each run), `NAME.tex` (mean and standard deviation over the seeds, a row for
each profile), and plots over time as SVG, PNG and PDF.
"""

from __future__ import annotations

import csv
import json
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

SERIES = {"pending": "pending pods", "cpu": "cpu utilization", "imbalance": "imbalance of cpu"}
TABLE = (
    "bound",
    "pending",
    "preempted",
    "waited_p50",
    "waited_p99",
    "cpu_utilization",
    "nodes_used",
)
FORMATS = ("svg", "png", "pdf")


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        results = json.loads(Path(sys.argv[1]).read_text())
        scenarios = [(result["name"], result["runs"]) for result in results]
    except (OSError, ValueError, TypeError, KeyError) as error:
        sys.exit(f"{sys.argv[1]} has no results of scenarios: {error!r}")
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, runs in scenarios:
        stem = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "scenario"
        write_table(folder / f"{stem}.csv", runs)
        write_latex(folder / f"{stem}.tex", runs)
        draw(folder / stem, runs)
        print(f"{name}: {folder / stem}.csv, .tex, {', '.join(f'.{each}' for each in FORMATS)}")


def write_table(path: Path, runs: list[Any]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["cluster", "profile", "seed", *runs[0]["figures"]])
        for run in runs:
            writer.writerow([run["cluster"], run["profile"], run["seed"], *run["figures"].values()])


def write_latex(path: Path, runs: list[Any]) -> None:
    lines = [rf"\begin{{tabular}}{{l{'r' * len(TABLE)}}}", r"\hline"]
    lines.append(" & ".join(["profile", *(escape(each) for each in TABLE)]) + r" \\ \hline")
    for label, group in by_profile(runs).items():
        cells = [spread([run["figures"][key] for run in group]) for key in TABLE]
        lines.append(" & ".join([escape(label), *cells]) + r" \\")
    path.write_text("\n".join([*lines, r"\hline", r"\end{tabular}"]) + "\n")


def draw(stem: Path, runs: list[Any]) -> None:
    """A line for each profile: the mean over its seeds, and the range."""
    figure, axes = pyplot.subplots(1, len(SERIES), figsize=(10, 2.8), layout="constrained")
    for axis, (key, label) in zip(axes, SERIES.items(), strict=True):
        for profile, group in by_profile(runs).items():
            steps = min(len(run["series"]["at"]) for run in group)
            values = list(zip(*[run["series"][key][:steps] for run in group], strict=True))
            at = group[0]["series"]["at"][:steps]
            axis.plot(
                at,
                [statistics.fmean(each) for each in values],
                label=profile,
                linewidth=1,
                clip_on=False,
            )
            axis.fill_between(at, list(map(min, values)), list(map(max, values)), alpha=0.2)
        axis.set(xlabel="seconds", ylabel=label, ylim=(0, None))
    axes[0].legend(frameon=False, fontsize="small")
    for kind in FORMATS:
        figure.savefig(
            stem.with_suffix(f".{kind}"),
            dpi=200,
            metadata={"Date": None} if kind == "svg" else None,
        )
    pyplot.close(figure)


def by_profile(runs: list[Any]) -> dict[str, list[Any]]:
    grouped: dict[str, list[Any]] = defaultdict(list)
    several = len({run["cluster"] for run in runs}) > 1
    for run in runs:
        grouped[f"{run['cluster']}, {run['profile']}" if several else run["profile"]].append(run)
    return grouped


def spread(values: list[Any]) -> str:
    numbers = [value for value in values if value is not None]
    if not numbers:
        return "--"
    mean = f"{statistics.fmean(numbers):.4g}"
    return mean if len(numbers) < 2 else rf"{mean} $\pm$ {statistics.stdev(numbers):.2g}"


def escape(text: str) -> str:
    return re.sub(r"([_%&#$])", r"\\\1", text)


if __name__ == "__main__":
    main()

"""Draws the plots of docs/performance.md as SVG.

The background is transparent, and every colour has a contrast of 3 to 1 or more with white and with
the dark grey of dark themes; text is a grey with 4.3 to 1 on both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

TEXT = "#797979"
#: of the lines, in order; with markers, so that the lines differ without colour as well
LINES = (("#2f81d6", "o"), ("#d1622b", "s"), ("#2a9d5c", "^"))
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "schedweb",
    "font.family": "sans-serif",
    "font.size": 12,
    "text.color": TEXT,
    "axes.edgecolor": TEXT,
    "axes.labelcolor": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "grid.color": TEXT,
    "grid.alpha": 0.3,
    "legend.frameon": False,
}
CURVES = {
    "nodes": "nodes",
    "placed": "pods placed before",
    "signatures": "kinds of pods that take turns",
}
Point = tuple[float, Mapping[str, float]]


def draw_curves(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """A plot of the core's processor time per pod for each curve of `bench.curves`."""
    drawn = []
    for curve, label in CURVES.items():
        lines: defaultdict[str, list[Point]] = defaultdict(list)
        for point in content["curves"][curve]:
            lines[point["workload"]].append((point["size"], point["processor_us"]))
        file = folder / f"{curve}.svg"
        with mpl.rc_context(STYLE):
            figure, axes = figure_of(label, "µs of processor time per pod")
            _draw_lines(axes, lines)
            if curve == "signatures":
                _use_logarithm(axes, [size for size, _ in next(iter(lines.values()))])
            save(figure, file)
        drawn.append(file)
    return drawn


def draw_clients(content: Mapping[str, Any], folder: Path) -> Path:
    """A plot of POSTs per second against the number of clients."""
    posts = {
        int(name.removeprefix("post_")): entry
        for name, entry in content["measurements"].items()
        if name.startswith("post_")
    }
    file = folder / "clients.svg"
    with mpl.rc_context(STYLE):
        figure, axes = figure_of("clients that POST at a time", "pods per second")
        rate = [(clients, entry["pods_per_s"]) for clients, entry in posts.items()]
        _draw_lines(axes, {"pods per second": rate}, legend=False)
        _use_logarithm(axes, list(posts))
        save(figure, file)
    return file


def figure_of(x: str, y: str) -> tuple[Figure, Axes]:
    """An empty plot with labels of its axes."""
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(visible=True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    return figure, axes


def _draw_lines(axes: Axes, lines: Mapping[str, Sequence[Point]], *, legend: bool = True) -> None:
    """Medians as lines, with the lowest and highest run as bars."""
    for (label, points), (colour, marker) in zip(lines.items(), LINES, strict=False):
        sizes = [size for size, _ in points]
        medians = [summary["median"] for _, summary in points]
        spread = [
            [summary["median"] - summary["min"] for _, summary in points],
            [summary["max"] - summary["median"] for _, summary in points],
        ]
        axes.errorbar(sizes, medians, spread, label=label, color=colour, marker=marker, capsize=3)
    axes.set_ylim(bottom=0)
    if legend:
        axes.legend(labelcolor=TEXT)


def _use_logarithm(axes: Axes, sizes: Sequence[float]) -> None:
    """A logarithmic horizontal axis with a tick at each size."""
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()


def save(figure: Figure, file: Path) -> None:
    """Write the file; equal figures give equal files."""
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, transparent=True, metadata={"Date": None, "Creator": None})
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")

"""Charts: bars as SVG paths, and lines over time for `static/js/plots.js`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

#: Size of the view box; templates scale it.
WIDTH = 120
HEIGHT = 24


def bars(values: Sequence[float], *, highest: float = 0.0) -> str:
    """A bar for each value, from left to right; `highest` (default: the maximum) is full height.

    The bar of a value above zero is at least one unit high.
    """
    top = highest or max(values, default=0) or 1
    step = WIDTH / max(len(values), 1)
    gap = min(1.0, step / 4)
    paths = []
    for index, value in enumerate(values):
        if value > 0:
            height = min(HEIGHT, max(1.0, HEIGHT * value / top))
            left = index * step
            paths.append(f"M{left:.1f} {HEIGHT}v-{height:.1f}h{step - gap:.1f}v{height:.1f}z")
    return "".join(paths)


def spread(shares: Sequence[float], *, most: int = 60) -> str:
    """The shares in descending order, in at most `most` bars; each bar stands for as many nodes."""
    ordered = sorted(shares, reverse=True)
    if len(ordered) > most:
        middles = [int((index + 0.5) * len(ordered) / most) for index in range(most)]
        ordered = [ordered[middle] for middle in middles]
    return bars(ordered, highest=1.0)


def summary(shares: Sequence[float]) -> str:
    """The minimum, median and maximum of the shares, as text."""
    if not shares:
        return "no nodes"
    ordered = sorted(shares)
    least, middle, most = ordered[0], ordered[len(ordered) // 2], ordered[-1]
    return f"least {least:.0%}, median {middle:.0%}, most {most:.0%}"


class PlotLine(msgspec.Struct, frozen=True):
    """A line of a plot."""

    name: str
    #: One for each time of the plots; None where the line has none.
    values: Sequence[float | None]
    edge: bool = False


class Plot(msgspec.Struct, frozen=True):
    """A chart with its lines, in the form of the charts of the API."""

    id: str
    title: str
    #: One of `apps.engine.series.catalog.Unit`.
    unit: str
    lines: Sequence[PlotLine]
    help: str = ""


def write_plots(times: Sequence[float], plots: Sequence[Plot], *, elapsed: bool) -> str:
    """The plots as JSON; `elapsed`: times are seconds since a start, not those of the epoch."""
    return msgspec.json.encode({"times": times, "elapsed": elapsed, "charts": plots}).decode()


def merge_times(
    runs: Mapping[str, tuple[Sequence[float], Sequence[float]]],
) -> tuple[Sequence[float], Sequence[PlotLine]]:
    """Lines with times of their own, name -> (times, values), over the times of all of them."""
    times = sorted({at for own, _ in runs.values() for at in own})
    lines = []
    for name, (own, values) in runs.items():
        known: Mapping[float, Any] = dict(zip(own, values, strict=True))
        lines.append(PlotLine(name, [known.get(at) for at in times]))
    return times, lines

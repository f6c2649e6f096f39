"""Small drawings as SVG paths: a row of bars in a box of known size."""

from __future__ import annotations

from collections.abc import Sequence

#: The box: units of width and height that the templates scale to their place.
WIDTH = 120
HEIGHT = 24


def bars(values: Sequence[float], *, highest: float = 0.0) -> str:
    """One bar a value, from left to right; `highest` (or the greatest) is full height.

    A value above zero is never invisible.
    """
    top = highest or max(values, default=0) or 1
    step = WIDTH / max(len(values), 1)
    gap = min(1.0, step / 4)
    drawn = []
    for index, value in enumerate(values):
        if value > 0:
            height = min(HEIGHT, max(1.0, HEIGHT * value / top))
            left = index * step
            drawn.append(f"M{left:.1f} {HEIGHT}v-{height:.1f}h{step - gap:.1f}v{height:.1f}z")
    return "".join(drawn)


def spread(shares: Sequence[float], *, most: int = 60) -> str:
    """How full the nodes are, the fullest first: at most `most` bars, each for as many nodes."""
    ordered = sorted(shares, reverse=True)
    if len(ordered) > most:
        middles = [int((index + 0.5) * len(ordered) / most) for index in range(most)]
        ordered = [ordered[middle] for middle in middles]
    return bars(ordered, highest=1.0)


def summary(shares: Sequence[float]) -> str:
    """The same in words."""
    if not shares:
        return "no nodes"
    ordered = sorted(shares)
    least, middle, most = ordered[0], ordered[len(ordered) // 2], ordered[-1]
    return f"least {least:.0%}, median {middle:.0%}, most {most:.0%}"

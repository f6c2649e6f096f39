"""The plots of a replay, as a file for a paper. They need matplotlib, which is an extra."""

from __future__ import annotations

import importlib.util
import io
from typing import Any, Final

from apps.cluster.errors import ApiError
from apps.studies.replay.levels import SERIES
from apps.studies.replay.report import ReplayReport

#: format of a file -> its media type
PLOTS: Final = {"svg": "image/svg+xml", "png": "image/png"}
#: life -> color and dashes; they differ without color, too
_LINES: Final = {
    "recorded": ("#1f5fa8", "-"),
    "baseline": ("#5c6670", ":"),
    "replayed": ("#b3460b", "--"),
}
_WIDTH, _HEIGHT = 7.0, 1.7
_DOTS: Final = 200


class PlotsNotAvailable(ApiError):
    """matplotlib is not installed."""

    code, reason = 501, "NotImplemented"


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(report: ReplayReport, form: str) -> bytes:
    """All levels over time, one below the other, as `svg` or `png`.

    The same report gives the same bytes with the same matplotlib. PlotsNotAvailable without it.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise PlotsNotAvailable(
            "plots need matplotlib, which is not installed here: "
            "python3 -m pip --python .venv/bin/python install matplotlib"
        ) from None
    plain: Any = {"svg.hashsalt": "schedweb", "svg.fonttype": "none", "font.size": 8}
    with matplotlib.rc_context(plain):
        figure = Figure(figsize=(_WIDTH, _HEIGHT * len(SERIES)), layout="constrained")
        axes: Any = figure.subplots(len(SERIES), 1, sharex=True)
        for place, (name, label) in zip(axes, SERIES, strict=True):
            _plot(place, report, name, label)
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
        axes[-1].set_xlabel("seconds since the start of the span")
        effects = "; ".join(map(str, report.effects))
        figure.suptitle(
            f"{report.cluster}: {report.changed}" + (f" ({effects})" if effects else ""), wrap=True
        )
        target = io.BytesIO()
        metadata = {"Date": None} if form == "svg" else {}
        figure.savefig(target, format=form, dpi=_DOTS, metadata=metadata)
    return target.getvalue()


def _plot(place: Any, report: ReplayReport, name: str, label: str) -> None:
    start = report.times[0]
    seconds = [(at - start).total_seconds() for at in report.times]
    is_share = not name.startswith("pods.")
    for life, _, series in report.lives:
        values = [
            None if each is None else each * 100 if is_share else each for each in series[name]
        ]
        numbers = [float("nan") if each is None else each for each in values]
        color, style = _LINES[life]
        place.plot(seconds, numbers, color=color, linestyle=style, linewidth=1.2, label=life)
    place.set_title(label, loc="left", fontsize=8)
    place.set_ylabel("%" if is_share else "pods")
    place.set_ylim(0, place.get_ylim()[1] * 1.05)
    place.grid(visible=True, linewidth=0.3)

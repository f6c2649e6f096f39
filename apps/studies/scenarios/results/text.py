"""Results as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apps.scheduler.config.durations import go_duration

Body = Mapping[str, Any]


def describe_scenario(result: Body) -> Iterator[str]:
    """The lines about a presented scenario."""
    for run in result["runs"]:
        yield f"{result['name']} ({run['name']}): {'passed' if run['passed'] else 'FAILED'}"
        for outcome in run["expectations"]:
            sign = "ok    " if outcome["met"] else "FAILED"
            yield f"  {sign}  {outcome['name']}: {outcome['message']}"
        yield f"  {describe_figures(run['figures'])}"


def describe_figures(figures: Body) -> str:
    """One line with the most important figures."""
    parts = [
        f"{figures['pods']:,} pods, {figures['bound']:,} bound, {figures['pending']:,} pending, "
        f"{figures['preempted']:,} preempted, {figures['evicted']:,} evicted",
        f"at the end {figures['cpu_utilization']:.0%} of the cpu and "
        f"{figures['memory_utilization']:.0%} of the memory are requested",
        f"{go_duration(figures['seconds'])} in {figures['processor_seconds']:.2f}s",
    ]
    if figures["waited_p99"] is not None:
        waited = (go_duration(figures[key]) for key in ("waited_p50", "waited_p99"))
        parts.insert(1, "waited {} (p50), {} (p99)".format(*waited))
    return "; ".join(parts)

"""The figures of a run, by which runs are compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from apps.studies.scenarios.running.recording import Recorder


def count_figures(recorder: Recorder) -> dict[str, Any]:
    """What was recorded until now; times are seconds."""
    pods = list(recorder.pods.values())
    waited = sorted(pod.waited for pod in pods if pod.waited is not None)
    last = recorder.samples[-1]
    return {
        "pods": len(pods),
        "bound": len(waited),
        "pending": sum(pod.is_pending for pod in pods),
        "succeeded": sum(pod.phase == "Succeeded" for pod in pods),
        "preempted": sum(pod.disruption == "preempted" for pod in pods),
        "evicted": sum(pod.disruption == "evicted" for pod in pods),
        "attempts": recorder.decisions,
        "waited_p50": _rounded(percentile(waited, 50)),
        "waited_p99": _rounded(percentile(waited, 99)),
        "waited_max": _rounded(percentile(waited, 100)),
        "cpu_utilization": _rounded(recorder.average("cpu")),
        "memory_utilization": _rounded(recorder.average("memory")),
        "imbalance": _rounded(last.imbalance),
        "nodes_used": len({pod.node for pod in pods if pod.is_on_node}),
    }


def percentile(ordered: Sequence[float], percent: float) -> float | None:
    """The nearest-rank percentile of ascending values; None if there are none."""
    if not ordered:
        return None
    rank = math.ceil(len(ordered) * min(max(percent, 0.0), 100.0) / 100)
    return ordered[max(rank, 1) - 1]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)

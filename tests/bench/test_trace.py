"""`bench.trace` on a small trace of the shape of openb's."""

from __future__ import annotations

from pathlib import Path

from bench import trace
from tests.openb_trace import write_trace


def test_the_pods_of_a_trace_are_scheduled(tmp_path: Path) -> None:
    write_trace(tmp_path, nodes=40, pods=100)
    figures = trace.measure(trace.read(tmp_path), 60)
    # one pod in fifty asks for more than any node has
    assert (figures["pods"], figures["bound"]) == (60, 59)
    assert figures["pods_per_s"] > 0
    assert figures["processor_us"] > 0

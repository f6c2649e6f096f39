"""The cluster of the lab's tests."""

from __future__ import annotations

from tests.controlplane.lab.conftest import cluster, row_counts, schedule

__all__ = ["cluster", "row_counts", "schedule"]

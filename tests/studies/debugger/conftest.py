"""The cluster of the lab's tests."""

from __future__ import annotations

from tests.studies.lab.conftest import cluster, row_counts, schedule

__all__ = ["cluster", "row_counts", "schedule"]

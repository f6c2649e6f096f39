"""Rules that the arguments of several plugins share."""

from __future__ import annotations

from apps.scheduler.config.errors import Problems
from apps.scheduler.labels.validity import qualified_name_faults


def check_range(value: int, low: int, high: int, path: str, problems: Problems) -> None:
    if not low <= value <= high:
        problems.invalid(path, value, f"not in valid range [{low}, {high}]")


def check_label_name(name: str, path: str, problems: Problems) -> None:
    for fault in qualified_name_faults(name):
        problems.invalid(path, name, fault)

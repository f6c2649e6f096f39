"""Taints of devices, and the tolerations of requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from apps.scheduler.objects import DeviceTaint, DeviceToleration

NO_EXECUTE: Final = "NoExecute"
_EFFECTS: Final = ("NoSchedule", NO_EXECUTE)


def refuses(taint: DeviceTaint, tolerations: Sequence[DeviceToleration]) -> bool:
    """Whether the taint keeps the device from being allocated."""
    return taint.effect in _EFFECTS and not any(tolerates(each, taint) for each in tolerations)


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Whether key and effect are those of the taint ("" for any), and the value if it counts."""
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value

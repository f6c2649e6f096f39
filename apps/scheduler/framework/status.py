"""The status that a plugin returns: a code, human-readable reasons, and the plugin's name."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace


class Code(enum.IntEnum):
    """The outcome of an extension point, with upstream's names and numbers."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def label(self) -> str:
        """Upstream's spelling, e.g. ``UnschedulableAndUnresolvable``."""
        return _LABELS[self]


_LABELS = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}

#: codes of a rejected pod, in contrast to an internal error
REJECTIONS = frozenset(
    {Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING},
)


@dataclass(frozen=True, slots=True)
class Status:
    """``plugin`` is set by the framework, not by the plugin."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    @property
    def is_success(self) -> bool:
        return self.code is Code.SUCCESS

    @property
    def is_skip(self) -> bool:
        return self.code is Code.SKIP

    @property
    def is_wait(self) -> bool:
        return self.code is Code.WAIT

    @property
    def is_error(self) -> bool:
        return self.code is Code.ERROR

    @property
    def is_rejected(self) -> bool:
        """The pod was refused (it may be retried); False for success, skip, wait and errors."""
        return self.code in REJECTIONS

    def by(self, plugin: str) -> Status:
        """The same status with the plugin's name, unless it has one already."""
        return self if self.plugin else replace(self, plugin=plugin)


SUCCESS = Status(Code.SUCCESS)
SKIP = Status(Code.SKIP)


def unschedulable(*reasons: str) -> Status:
    """The pod does not fit now; preemption may help."""
    return Status(Code.UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    """The pod does not fit and no preemption can change that."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)


def error(*reasons: str) -> Status:
    """An internal error: the attempt ends and the pod backs off."""
    return Status(Code.ERROR, reasons)


class StatusError(Exception):
    """Raised by a plugin instead of returning a status; the framework returns its status."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status

"""The slow steps of a binding cycle, which can run in another thread.

Other pods are scheduled meanwhile, so the cycle is a generator: it yields a step and is sent the
step's status. The caller runs the step at once, or in another thread, and then resumes the cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

from apps.scheduler.framework.status import Status


@dataclass(frozen=True, slots=True)
class Step:
    """One call. ``run`` does not raise."""

    #: plugin, or extender
    name: str
    run: Callable[[], Status]


Steps = Generator[Step, Status, Status]

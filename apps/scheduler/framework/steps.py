"""What may take its time in a binding cycle, as steps that can be run somewhere else.

Scheduling goes on meanwhile, so the cycle is a generator: it yields such a step and is sent the
step's answer. Whoever drives it runs the step at once, or has it run and comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

from apps.scheduler.framework.status import Status


@dataclass(frozen=True, slots=True)
class Step:
    """One call. ``run`` raises nothing."""

    #: plugin, or extender
    name: str
    run: Callable[[], Status]


Steps = Generator[Step, Status, Status]

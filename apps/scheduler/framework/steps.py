"""A binding cycle in steps, each of which may be run somewhere else.

Scheduling goes on while a step takes its time, so the cycle is a generator: it yields a step and is
sent the step's answer. Whoever drives it runs a step at once, or has it run and comes back.
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

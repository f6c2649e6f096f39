"""Killing and stopping the processes of a house at random moments, the same for the same seed."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.stack.running_site import RunningSite

#: How processes are found: by their command lines.
PROCESSES = {
    "worker": r"schedweb\.worker",
    "beat": r"schedweb\.beat",
    "web": r"schedweb\.front",
    "database": r"bin/postgres -D",
    "connection": r"^postgres: schedweb schedweb ",
    "broker": r"(redis|valkey)-server ",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to a process; `weight` is how often, beside the others."""

    target: str
    number: signal.Signals
    weight: int

    def __str__(self) -> str:
        return f"{self.number.name} of {self.target}"


FAULTS = (
    Fault("worker", signal.SIGKILL, 5),
    Fault("worker", signal.SIGSTOP, 5),
    Fault("worker", signal.SIGTERM, 2),
    Fault("beat", signal.SIGKILL, 2),
    Fault("beat", signal.SIGSTOP, 1),
    Fault("web", signal.SIGKILL, 3),
    Fault("web", signal.SIGSTOP, 2),
    Fault("database", signal.SIGKILL, 2),
    Fault("database", signal.SIGSTOP, 1),
    Fault("connection", signal.SIGKILL, 1),
    Fault("connection", signal.SIGSTOP, 1),
    Fault("supervisor", signal.SIGKILL, 1),
)
BROKER_FAULTS = (Fault("broker", signal.SIGKILL, 2), Fault("broker", signal.SIGSTOP, 1))


@dataclass
class Chaos:
    """A seeded source of faults. Each kind comes once before any comes again."""

    house: RunningSite
    seed: int
    faults: tuple[Fault, ...] = FAULTS
    #: living processes besides the house's own, by id: the broker
    others: Callable[[], dict[int, str]] = dict
    say: Callable[[str], None] = print
    done: int = 0
    _first: list[Fault] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._first = list(self.faults)
        self._random.shuffle(self._first)
        self._stopped: list[threading.Timer] = []
        #: what went wrong in the striking itself
        self.wrong: list[str] = []

    def strike(self) -> None:
        """One fault now; what is stopped goes on by itself some seconds later."""
        fault = self._draw()
        # beyond the lease, and beyond the time after which the database ends a transaction
        seconds = self._random.choice((1.0, 5.0, 12.0, 12.0, 20.0, 35.0))
        self.done += 1
        if fault.target == "supervisor":
            self.say(f"{self.done}: {fault}, and a new start")
            self._restart()
            return
        pid = self._find(fault.target)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, fault.number)
        if fault.number == signal.SIGSTOP:
            self.say(f"{self.done}: {fault} {pid} for {seconds:.0f} s")
            timer = threading.Timer(seconds, _go_on, [pid])
            timer.start()
            self._stopped.append(timer)
        else:
            self.say(f"{self.done}: {fault} {pid}")

    def strike_along(self, progress: Callable[[], float], count: int) -> None:
        """`count` faults, at random moments of something that goes from 0 to 1."""
        for moment in sorted(self._random.random() for _ in range(count)):
            while progress() < moment:
                time.sleep(0.02)
            self.strike()

    def settle(self) -> None:
        """Return when nothing is stopped any more."""
        for timer in self._stopped:
            timer.join()
        self._stopped.clear()

    def _draw(self) -> Fault:
        if self._first:
            return self._first.pop()
        return self._random.choices(self.faults, [fault.weight for fault in self.faults])[0]

    def _find(self, target: str) -> int:
        """One of the processes, as soon as there is one: it may just have been killed."""
        found: list[int] = []
        deadline = time.monotonic() + 60
        while not found:
            assert time.monotonic() < deadline, f"no {target} has come back"
            everybody = self.house.processes() | self.others()
            pattern = PROCESSES[target]
            found = sorted(pid for pid, line in everybody.items() if re.search(pattern, line))
            time.sleep(0.02)
        return self._random.choice(found)

    def _restart(self) -> None:
        """The whole house is gone at once, as when a machine loses its power, and comes up."""
        for timer in self._stopped:
            # a stopped process of the database would hold the data folder
            timer.cancel()
            _go_on(*timer.args)
        self.house.end(signal.SIGKILL)
        try:
            self.house.start()
        except AssertionError as error:
            self.wrong.append(str(error))


def _go_on(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)

"""Kills and stops processes of a site at random times; the seed determines the faults."""

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

#: Patterns of the processes' command lines.
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
    """A signal to a process; `weight` is its frequency relative to other faults."""

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
    """A seeded source of faults. Every fault occurs once before any occurs again."""

    site: RunningSite
    seed: int
    faults: tuple[Fault, ...] = FAULTS
    #: running processes besides the site's own, by id: the broker
    others: Callable[[], dict[int, str]] = dict
    say: Callable[[str], None] = print
    done: int = 0
    _first: list[Fault] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._first = list(self.faults)
        self._random.shuffle(self._first)
        self._stopped: list[threading.Timer] = []
        #: errors while causing faults
        self.errors: list[str] = []

    def strike(self) -> None:
        """Cause one fault now; a stopped process continues some seconds later."""
        fault = self._draw()
        # also longer than the lease, and than the idle timeout of transactions
        seconds = self._random.choice((1.0, 5.0, 12.0, 12.0, 20.0, 35.0))
        self.done += 1
        if fault.target == "supervisor":
            self.say(f"{self.done}: {fault}, then a restart")
            self._restart()
            return
        pid = self._find(fault.target)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, fault.number)
        if fault.number == signal.SIGSTOP:
            self.say(f"{self.done}: {fault} {pid} for {seconds:.0f} s")
            timer = threading.Timer(seconds, _continue, [pid])
            timer.start()
            self._stopped.append(timer)
        else:
            self.say(f"{self.done}: {fault} {pid}")

    def strike_along(self, progress: Callable[[], float], count: int) -> None:
        """Cause `count` faults at random moments, while `progress` goes from 0 to 1."""
        for moment in sorted(self._random.random() for _ in range(count)):
            while progress() < moment:
                time.sleep(0.02)
            self.strike()

    def settle(self) -> None:
        """Wait until no process is stopped."""
        for timer in self._stopped:
            timer.join()
        self._stopped.clear()

    def _draw(self) -> Fault:
        if self._first:
            return self._first.pop()
        return self._random.choices(self.faults, [fault.weight for fault in self.faults])[0]

    def _find(self, target: str) -> int:
        """A process of this part; waits for one, as it may just have been killed."""
        pids: list[int] = []
        deadline = time.monotonic() + 60
        while not pids:
            assert time.monotonic() < deadline, f"no {target} has been restarted"
            processes = self.site.processes() | self.others()
            pattern = PROCESSES[target]
            pids = sorted(pid for pid, line in processes.items() if re.search(pattern, line))
            time.sleep(0.02)
        return self._random.choice(pids)

    def _restart(self) -> None:
        """Kill the whole site at once, as in a power failure, and start it again."""
        for timer in self._stopped:
            # a stopped database process would block the data folder
            timer.cancel()
            _continue(*timer.args)
        self.site.end(signal.SIGKILL)
        try:
            self.site.start()
        except AssertionError as error:
            self.errors.append(str(error))


def _continue(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)

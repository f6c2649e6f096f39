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

from tests.faults.disk import SmallDisk
from tests.faults.recovery import Struck
from tests.stack.running_site import RunningSite

#: Patterns of the processes' command lines.
PROCESSES = {
    "worker": r"schedweb\.worker",
    "beat": r"schedweb\.beat",
    "web": r"schedweb\.front",
    "fork server": r"schedweb\.forkserver",
    "database": r"bin/postgres -D",
    "connection": r"^postgres: schedweb schedweb ",
    "broker": r"(redis|valkey)-server ",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A signal to a process, or a method of `Events`; `weight` is its relative frequency."""

    target: str
    number: signal.Signals | None
    weight: int

    def __str__(self) -> str:
        return f"{self.number.name} of {self.target}" if self.number else self.target


#: Two faults of different kinds.
TWO = "two at once"

FAULTS = (
    Fault("worker", signal.SIGKILL, 5),
    Fault("worker", signal.SIGSTOP, 5),
    Fault("worker", signal.SIGTERM, 2),
    Fault("beat", signal.SIGKILL, 2),
    Fault("beat", signal.SIGSTOP, 1),
    Fault("web", signal.SIGKILL, 3),
    Fault("web", signal.SIGSTOP, 2),
    Fault("fork server", signal.SIGKILL, 1),
    Fault("fork server", signal.SIGSTOP, 1),
    Fault("database", signal.SIGKILL, 2),
    Fault("database", signal.SIGTERM, 1),
    Fault("database", signal.SIGSTOP, 1),
    Fault("connection", signal.SIGKILL, 1),
    Fault("connection", signal.SIGSTOP, 1),
    Fault("supervisor", signal.SIGKILL, 1),
    Fault("supervisor", signal.SIGSTOP, 1),
    Fault("lost connections", None, 3),
    Fault("full connection table", None, 2),
    Fault("activation", None, 3),
    Fault(TWO, None, 4),
    Fault("second start", None, 1),
    Fault("killed operation", None, 3),
    Fault("killed import", None, 2),
    Fault("killed maintenance", None, 2),
)
#: A PostgreSQL beside the site, which service managers stop with SIGINT, and its standby.
SERVER_FAULTS = (*FAULTS, Fault("database", signal.SIGINT, 1), Fault("failover", None, 3))
BROKER_FAULTS = (Fault("broker", signal.SIGKILL, 2), Fault("broker", signal.SIGSTOP, 1))
DISK_FAULTS = (Fault("full disk", None, 3), Fault("read-only disk", None, 1))
CLOCK_FAULTS = (Fault("clock jump", None, 3), Fault("dead name server", None, 1))

#: Nothing can be scheduled until these continue: there is one of each.
ESSENTIAL = ("web", "database", "connection", "broker")


@dataclass
class Chaos:
    """A seeded source of faults. Every fault occurs once before any occurs again."""

    site: RunningSite
    seed: int
    faults: tuple[Fault, ...] = FAULTS
    #: running processes besides the site's own, by id: the broker
    others: Callable[[], dict[int, str]] = dict
    say: Callable[[str], None] = print
    #: what is no signal: name -> function, which gets the random source and this object
    events: dict[str, Callable[[Chaos, random.Random], None]] = field(default_factory=dict)
    disk: SmallDisk | None = None
    done: int = 0
    _first: list[Fault] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._first = list(self.faults)
        self._random.shuffle(self._first)
        self._stopped: list[threading.Timer] = []
        #: errors while causing faults
        self.errors: list[str] = []
        self.struck: list[Struck] = []

    def strike(self) -> None:
        """Cause one fault now, or two; a stopped process continues some seconds later."""
        fault = self._draw()
        self.done += 1
        began = time.monotonic()
        if fault.target != TWO:
            ended = self._cause(fault)
        else:
            # a signal only takes a moment, so the other one strikes while it lasts
            first = self._random.choice([f for f in self.faults if f.number is not None])
            rest = [f for f in self.faults if f.target not in (first.target, TWO)]
            ended = max(self._cause(first), self._cause(self._random.choice(rest)))
        self.struck.append(Struck(str(fault), began, ended))

    def _cause(self, fault: Fault) -> float:
        """Cause this fault; returns the time until which the site cannot recover."""
        # also longer than the lease, and than the idle timeout of transactions
        seconds = self._random.choice((1.0, 5.0, 12.0, 12.0, 20.0, 35.0))
        if fault.number is None:
            self.say(f"{self.done}: {fault}")
            self.events[fault.target](self, self._random)
        elif fault.target == "supervisor":
            self._strike_supervisor(fault, seconds)
        else:
            self._signal(fault, seconds)
        ended = time.monotonic()
        if fault.number == signal.SIGSTOP and fault.target in ESSENTIAL:
            ended += seconds
        return ended

    def strike_along(
        self,
        progress: Callable[[], float],
        count: int,
        recover: Callable[[Struck], None] = lambda _: None,
    ) -> None:
        """Cause `count` faults at random moments, while `progress` goes from 0 to 1.

        `recover` waits until the site may be struck by the next one.
        """
        for moment in sorted(self._random.random() for _ in range(count)):
            while progress() < moment:
                time.sleep(0.02)
            self.strike()
            recover(self.struck[-1])

    def settle(self) -> None:
        """Wait until no process is stopped."""
        for timer in self._stopped:
            timer.join()
        self._stopped.clear()

    def restart(self, between: Callable[[], None] = lambda: None) -> None:
        """Kill the whole site at once, as in a power failure, and start it again."""
        for timer in self._stopped:
            # a stopped database process would block the data folder
            timer.cancel()
            _continue(*timer.args)
        if self.disk is not None:
            self.disk.empty()
        self.site.end(signal.SIGKILL)
        between()
        try:
            self.site.start()
        except AssertionError as error:
            self.errors.append(str(error))

    def kill(self, target: str) -> None:
        """Kill -9 of one process of this part."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._find(target), signal.SIGKILL)

    def later(self, seconds: float, action: Callable[..., None], *arguments: object) -> None:
        """End a fault after so many seconds."""
        timer = threading.Timer(seconds, action, arguments)
        timer.start()
        self._stopped.append(timer)

    def _strike_supervisor(self, fault: Fault, seconds: float) -> None:
        if fault.number == signal.SIGKILL:
            self.say(f"{self.done}: {fault}, then a restart")
            self.restart()
            return
        self.say(f"{self.done}: {fault} for {seconds:.0f} s")
        os.kill(self.site.pid, signal.SIGSTOP)
        self.later(seconds, _continue, self.site.pid)

    def _signal(self, fault: Fault, seconds: float) -> None:
        pid = self._find(fault.target)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, fault.number or signal.SIGKILL)
        if fault.number == signal.SIGSTOP:
            self.say(f"{self.done}: {fault} {pid} for {seconds:.0f} s")
            self.later(seconds, _continue, pid)
        else:
            self.say(f"{self.done}: {fault} {pid}")

    def _draw(self) -> Fault:
        if self._first:
            return self._first.pop()
        return self._random.choices(self.faults, [fault.weight for fault in self.faults])[0]

    def _find(self, target: str) -> int:
        """A process of this part; waits for one, as it may just have been killed."""
        pids: list[int] = []
        # a stopped supervisor restarts nothing for some time
        deadline = time.monotonic() + 120
        while not pids:
            assert time.monotonic() < deadline, f"no {target} has been restarted"
            processes = self.site.processes() | self.others()
            pattern = PROCESSES[target]
            pids = sorted(pid for pid, line in processes.items() if re.search(pattern, line))
            time.sleep(0.02)
        return self._random.choice(pids)


def _continue(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)

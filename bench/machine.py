"""What a measurement ran on: the machine, the commit, and the load of other work."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import processes

ROOT = Path(__file__).parents[1]


def describe() -> dict[str, Any]:
    """Time, commit, cores, processor and versions."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "cores": len(os.sched_getaffinity(0)),
        "processor": _processor(),
        "python": platform.python_version(),
        "numpy": importlib.metadata.version("numpy"),
    }


@contextmanager
def observed_load() -> Iterator[dict[str, float]]:
    """Yields a dictionary that holds the load of the machine when the block has ended.

    ``start`` and ``end`` are load averages over a minute, which include this benchmark;
    ``other_cores`` is the mean number of cores that other work kept busy in the meantime.
    """
    load = {"start": round(os.getloadavg()[0], 2)}
    began, busy, own = time.monotonic(), _busy_seconds(), processes.seconds_of_tree(os.getpid())
    yield load
    passed = time.monotonic() - began
    own = processes.seconds_of_tree(os.getpid()) - own
    others = (_busy_seconds() - busy - own) / passed
    load |= {"end": round(os.getloadavg()[0], 2), "other_cores": round(max(0.0, others), 2)}


def format_load(load: dict[str, float]) -> str:
    return (
        f"load {load['start']:g} at the start, {load['end']:g} at the end; "
        f"other work used {load['other_cores']:g} cores"
    )


def _busy_seconds() -> float:
    """Processor time of everything on this machine: user, nice, system, irq and softirq."""
    user, nice, system, _, _, irq, softirq = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8]
    )
    return (user + nice + system + irq + softirq) / processes.TICKS


def _commit() -> str:
    """The commit of the checkout, with "+" if tracked files differ from it; "" without git."""
    command = ["git", "describe", "--always", "--abbrev=7", "--exclude=*", "--dirty=+"]
    try:
        finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return finished.stdout.strip()


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()

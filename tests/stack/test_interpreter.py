"""A thread that waits for input or output does not wait long for the interpreter."""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from schedweb import interpreter

WAITS = 20
#: Both intervals take turns, because the machine may have other work.
TURNS = 5


@pytest.fixture
def busy() -> Iterator[None]:
    """Another thread that computes, and restores the interval of the test run afterwards."""
    before, ended = sys.getswitchinterval(), threading.Event()

    def compute() -> None:
        while not ended.is_set():
            sum(range(100))

    thread = threading.Thread(target=compute)
    thread.start()
    yield
    ended.set()
    thread.join()
    sys.setswitchinterval(before)


def median_wait() -> float:
    """Seconds until this thread continues after a short wait."""
    waits = []
    for _ in range(WAITS):
        began = time.perf_counter()
        time.sleep(0.0005)
        waits.append(time.perf_counter() - began)
    return statistics.median(waits)


def test_a_thread_continues_soon_beside_one_that_computes(busy: None) -> None:
    default = sys.getswitchinterval()
    before = after = 0.0
    for _ in range(TURNS):
        sys.setswitchinterval(default)
        before += median_wait()
        interpreter.switch_soon()
        after += median_wait()
    assert after < before / 1.5

"""Renews a lease in a thread of its own, while the thread that holds it works."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import DatabaseError, InterfaceError, connection

log = logging.getLogger(__name__)


@contextmanager
def renew_periodically(
    renew: Callable[[], bool], *, name: str, every: float, longest: float = math.inf
) -> Iterator[None]:
    """Call `renew` in this block every `every` seconds, until it returns False.

    `longest` is the time in seconds after which the renewals end, so that a hanging block loses its
    lease. While the database is unavailable, renewals are tried again. `name` is that of the lease,
    in log lines.
    """
    done = threading.Event()
    thread = threading.Thread(
        target=_renew, args=(renew, done, name, every, longest), name=f"renew {name}", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _renew(
    renew: Callable[[], bool], done: threading.Event, name: str, every: float, longest: float
) -> None:
    until, renewed = time.monotonic() + longest, True
    while renewed and not done.wait(every) and time.monotonic() < until:
        try:
            renewed = renew()
        except (DatabaseError, InterfaceError):
            log.warning("could not renew the lease of %s", name, exc_info=True)
        finally:
            connection.close()

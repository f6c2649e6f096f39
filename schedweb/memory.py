"""Keeps the memory of a long-running process near what it uses: allocator, collector, TLS buffers.

docs/adr/memory.md has the measurements behind the values.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import sys
import threading
import time
from asyncio import sslproto
from pathlib import Path
from typing import Final

#: Parameters of mallopt(3).
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8

#: By default every thread gets an arena, and none of them returns its memory.
ARENAS: Final = 2
#: Larger blocks are returned to the system when they are freed. By default this limit grows to
#: 32 MB with the blocks that are freed.
MMAP_THRESHOLD: Final = 256 * 1024
#: Free memory at the end of the heap, above which it is returned at once.
TRIM_THRESHOLD: Final = 1024 * 1024

#: The read buffers of a TLS connection, which asyncio allocates for every open connection: two TLS
#: records instead of 256 KiB.
TLS_BUFFER: Final = 32 * 1024

#: A loop's youngest objects are collected after so many.
YOUNG_OBJECTS: Final = 10_000

#: How often a process looks at its memory, and how much more than before may be free.
LOOK_SECONDS: Final = 5.0
GROWTH: Final = 32 * 1024 * 1024


def configure_malloc() -> None:
    """Set glibc's limits; call this before other threads start. Without glibc, do nothing."""
    libc = _glibc()
    if libc is not None:
        libc.mallopt(_M_ARENA_MAX, ARENAS)
        libc.mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD)
        libc.mallopt(_M_TRIM_THRESHOLD, TRIM_THRESHOLD)


def shrink_tls_buffers() -> None:
    """Let every TLS connection that is accepted from now on use small buffers."""
    sslproto.SSLProtocol.max_size = TLS_BUFFER


def pause_collections() -> None:
    """Collect nothing until `freeze_loaded_code`: an eighth of the processor time of a start."""
    gc.disable()


def freeze_loaded_code() -> None:
    """Exempt what is in memory now, modules and registries, from garbage collection.

    Collections start here if they were paused. A full collection then walks only what requests have
    allocated, so it is fast, and Python runs it more often, because it counts the objects that
    survived.
    """
    gc.enable()
    gc.collect()
    gc.freeze()


def collect_less_often() -> None:
    """Let the youngest objects survive for longer before they are collected.

    A loop keeps what a batch creates until it is recorded; by default every 700 objects are walked,
    which took an eighth of the processor time of a pod.
    """
    gc.set_threshold(YOUNG_OBJECTS)


class Trimmer(threading.Thread):
    """Returns free memory to the system when there is more of it than after the last time."""

    def __init__(self) -> None:
        super().__init__(name="trim", daemon=True)

    def run(self) -> None:
        libc = _glibc()
        if libc is None:
            return
        lowest = _free_bytes(libc)
        while True:
            time.sleep(LOOK_SECONDS)
            free = _free_bytes(libc)
            if free > lowest + GROWTH:
                libc.malloc_trim(0)
                free = lowest = _free_bytes(libc)
            lowest = min(lowest, free)


class _Mallinfo(ctypes.Structure):
    """mallinfo2(3)."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def _free_bytes(libc: ctypes.CDLL) -> int:
    """The memory in RAM that the allocator has not given out, and what others take.

    The size of the process alone does not tell: what open connections hold is not free, and what is
    free after they were closed must not count as what the process needs.
    """
    if not hasattr(libc, "mallinfo2"):  # before glibc 2.33
        return resident_bytes()
    libc.mallinfo2.restype = _Mallinfo
    usage = libc.mallinfo2()
    return resident_bytes() - int(usage.uordblks + usage.hblkhd)


def resident_bytes() -> int:
    """The memory of this process that is in RAM."""
    pages = int(Path("/proc/self/statm").read_bytes().split()[1])
    return pages * mmap.PAGESIZE


def _glibc() -> ctypes.CDLL | None:
    """The C library if it is glibc on Linux, otherwise None."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "gnu_get_libc_version") else None

"""A zstandard compressor that threads can share."""

from __future__ import annotations

import threading

import zstandard


class Compressor(threading.local):
    """Compresses with a context for each thread.

    A context is expensive to create, and two threads that use one at the same time end the process
    with a segmentation fault: it compresses without holding the interpreter's lock.
    """

    def __init__(
        self, *, level: int = 3, dictionary: zstandard.ZstdCompressionDict | None = None
    ) -> None:
        self._context = zstandard.ZstdCompressor(level=level, dict_data=dictionary)

    def compress(self, data: bytes) -> bytes:
        """The data as a zstandard frame."""
        return self._context.compress(data)

"""Ends streams whose token, session, user or role is no longer valid."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from asgiref.sync import sync_to_async

log = logging.getLogger(__name__)

#: Interval of the checks: a stream ends so long after its credentials at the latest.
CHECK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request authenticates with, and as which user it did."""

    authorization: str
    cookie: str
    #: The cluster whose Kubernetes API is requested, or None.
    cluster: str | None
    user: str
    #: The cluster that the stream is about; None for one about the site.
    subject: str | None = None


class CredentialChecks:
    """Checks the credentials of all open streams, each once however many streams have it.

    ``is_valid`` is called in a thread. While the database is unavailable, streams stay open.
    """

    def __init__(self, is_valid: Callable[[Credentials], bool]) -> None:
        self._is_valid = is_valid
        self._streams: defaultdict[Credentials, set[asyncio.Task[None]]] = defaultdict(set)
        self._checking: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def cover(self, credentials: Credentials, stream: asyncio.Task[None]) -> Iterator[None]:
        """Cancel the stream if its credentials become invalid in this block."""
        self._streams[credentials].add(stream)
        if self._checking is None:
            self._checking = asyncio.ensure_future(self._check_periodically())
        try:
            yield
        finally:
            self._forget(credentials, stream)

    def _forget(self, credentials: Credentials, stream: asyncio.Task[None]) -> None:
        streams = self._streams[credentials]
        streams.discard(stream)
        if not streams:
            del self._streams[credentials]
        if not self._streams and self._checking is not None:
            self._checking.cancel()
            self._checking = None

    async def _check_periodically(self) -> None:
        find = sync_to_async(self._find_invalid, thread_sensitive=False)
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            for credentials in await find(list(self._streams)):
                log.info("the streams of %s end: it is no longer authorized", credentials.user)
                for stream in tuple(self._streams.get(credentials, ())):
                    stream.cancel()

    def _find_invalid(self, all_credentials: Collection[Credentials]) -> list[Credentials]:
        try:
            return [each for each in all_credentials if not self._is_valid(each)]
        except Exception:
            # most likely the database is unavailable; the next check follows in any case
            log.warning("could not check the credentials of streams", exc_info=True)
            return []

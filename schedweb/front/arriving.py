"""Requests as they arrive: heads and bodies in time and in bounds, and with one meaning only.

A connection costs the site little while it waits, so a client may be slow. It may not be endless:
the head of a request has a deadline, its body a rate, and the unfinished bodies of one address are
counted.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final, cast

import httptools
from django.conf import settings

from schedweb.front.asgi import Scope
from schedweb.front.bodies import LARGEST_BODY
from schedweb.front.crowds import TOO_MANY, CountedProtocol
from schedweb.front.trust import client_network

#: Seconds for the request line and the headers of a request to arrive, and their bytes; the event
#: loop reads up to 256 KiB at once.
HEAD_SECONDS: Final = 20.0
LARGEST_HEAD: Final = 320 * 1024
#: Bytes per second that a client sends of a body at least, within each of these periods.
BODY_RATE: Final = 4096
BODY_SECONDS: Final = 20.0

_TOO_LARGE: Final = b"431 Request Header Fields Too Large"
_TOO_SLOW: Final = b"408 Request Timeout"
#: Headers that readers of a request would understand differently if they were repeated.
_SINGLE: Final = (b"authorization", b"content-type")

#: The unfinished bodies of this process, by the network of their clients.
_unfinished: Counter[str] = Counter()


class Ambiguous(Exception):
    """Two readers of the request could understand it differently."""


class ArrivingProtocol(CountedProtocol):
    """uvicorn's protocol, for clients that are slow, endless or ambiguous."""

    #: Ends the wait for the rest of a head or a body; most arrive at once.
    _deadline: asyncio.TimerHandle | None = None
    #: Whether a part of a head has arrived.
    _begins_head = False
    _reads_head = True
    _upgraded = False
    #: The network for which this connection's body is counted.
    _counted_for: str | None = None
    #: Bytes since the last part of a body: of a head, of the sizes of chunks, of trailers.
    _head_bytes = 0
    #: Bytes of the body, and those of them that had arrived when the current period began.
    _body_bytes = 0
    _body_bytes_before = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        self._head_bytes += len(data)
        if self._head_bytes > LARGEST_HEAD:
            self._refuse(_TOO_LARGE)
            return
        super().data_received(data)
        if self._deadline is None and not self._upgraded:
            if not self._reads_head:
                self._count_body()
            elif self._begins_head or self._is_idle():
                self._wait_for_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begins_head = True
        self._stop_waiting()

    def on_header(self, name: bytes, value: bytes) -> None:
        # those after a body are trailers, which came after the decision about the request
        if self._reads_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        self._begins_head = self._reads_head = False
        self._body_bytes = self._body_bytes_before = 0
        self._check_head()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._stop_waiting()
        super().on_message_complete()
        self._reads_head = True
        self._head_bytes = 0

    def handle_websocket_upgrade(self) -> None:
        self._upgraded = True
        super().handle_websocket_upgrade()
        # no response follows a handshake that could not be read
        if not getattr(self.transport.get_protocol(), "handshake_initiated", False):
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._begins_head = False
        self._stop_waiting()
        super().connection_lost(exc)

    def _check_head(self) -> None:
        """Raise Ambiguous unless all who read the head read the same; uvicorn answers 400."""
        names = [name for name, _ in self.headers]
        hosts = names.count(b"host")
        if hosts > 1 or (not hosts and self.parser.get_http_version() == "1.1"):
            raise Ambiguous("a request has one Host")
        if any(names.count(name) > 1 for name in _SINGLE):
            raise Ambiguous("a header is repeated")
        if b"transfer-encoding" in names and not self._is_chunked():
            raise Ambiguous("the body may be chunked, nothing else")
        if self.url[:1] not in (b"/", b"*"):
            self._take_host_of_target()

    def _is_chunked(self) -> bool:
        codings = [value.lower() for name, value in self.headers if name == b"transfer-encoding"]
        return codings == [b"chunked"] and self.parser.get_http_version() == "1.1"

    def _take_host_of_target(self) -> None:
        """A target with a host, as sent to proxies: its host counts (RFC 9112, 3.2.2)."""
        target = httptools.parse_url(self.url)
        host = target.host or b""
        host = b"[%s]" % host if b":" in host else host
        if target.port:
            host += b":%d" % target.port
        # the list belongs to the scope
        self.headers[:] = [
            (name, host if name == b"host" else value) for name, value in self.headers
        ]

    def _is_idle(self) -> bool:
        """Whether neither a request nor a timer is under way: empty lines stop the latter."""
        answered = self.cycle is None or self.cycle.response_complete
        return answered and self.timeout_keep_alive_task is None

    def _wait_for_head(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _count_body(self) -> None:
        """Count an unfinished body for its client, and wait for the rest of it."""
        client = client_network(cast(Scope, self.scope))
        if _unfinished[client] >= max(1, settings.CONFIG.max_requests_inflight // 4):
            self._refuse(TOO_MANY)
            return
        _unfinished[client] += 1
        self._counted_for = client
        self._wait_for_body()

    def _wait_for_body(self) -> None:
        self._body_bytes_before = self._body_bytes
        self._deadline = self.loop.call_later(BODY_SECONDS, self._check_body)

    def _check_body(self) -> None:
        arrived = self._body_bytes - self._body_bytes_before
        endless = self.cycle.response_complete and self._body_bytes > LARGEST_BODY
        if self.flow.read_paused or (arrived >= BODY_RATE * BODY_SECONDS and not endless):
            self._wait_for_body()
        else:
            self._refuse(_TOO_SLOW)

    def _refuse(self, status: bytes) -> None:
        """Close the connection, with a response if the request has none yet."""
        self._stop_waiting()
        if self.cycle is None or self._reads_head or not self.cycle.response_started:
            self.transport.write(
                b"HTTP/1.1 %s\r\nconnection: close\r\ncontent-length: 0\r\n\r\n" % status
            )
        self.transport.close()

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if self._counted_for is not None:
            _unfinished[self._counted_for] -= 1
            if not _unfinished[self._counted_for]:
                del _unfinished[self._counted_for]
            self._counted_for = None

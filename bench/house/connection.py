"""Connections to a site: fast enough that the load client is not what is measured.

Requests are bytes that were built beforehand, sockets do not block, and an answer is parsed only as
far as its length. So one process sends some thousand requests per second.
"""

from __future__ import annotations

import functools
import http.client
import json
import select
import socket
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bench.results import BenchmarkError

_CHUNK = 1 << 18
_END_OF_HEADER = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Address:
    """A site's URL, such as "https://localhost:8443", and a user's token."""

    url: str
    token: str

    def connect(self) -> socket.socket:
        """A new socket that does not block; certificates are not verified."""
        target = urlsplit(self.url)
        secure = target.scheme == "https"
        opened = socket.create_connection((target.hostname, target.port or (443 if secure else 80)))
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if secure:
            opened = _context().wrap_socket(opened, server_hostname=target.hostname)
        opened.setblocking(False)
        return opened

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """A whole HTTP/1.1 request with a JSON body."""
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: {urlsplit(self.url).netloc}",
            f"Authorization: Bearer {self.token}",
            "Accept: application/json",
            *(["Content-Type: application/json", f"Content-Length: {len(body)}"] if body else []),
        ]
        return "\r\n".join(lines).encode() + _END_OF_HEADER + body

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """The JSON answer to one request; BenchmarkError if it is an error."""
        target = urlsplit(self.url)
        if target.scheme == "https":
            web: http.client.HTTPConnection = http.client.HTTPSConnection(
                target.netloc, timeout=600, context=_context()
            )
        else:
            web = http.client.HTTPConnection(target.netloc, timeout=600)
        text = None if body is None else json.dumps(body)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        try:
            web.request(method, path, text, headers)
            answer = web.getresponse()
            content = answer.read()
        finally:
            web.close()
        if answer.status >= 300:
            raise BenchmarkError(f"{method} {path}: {answer.status} {content[:300].decode()}")
        return json.loads(content) if content else None


@functools.cache
def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Connection:
    """One keep-alive connection with one request at a time.

    `receive` must be called whenever the socket is readable.
    """

    def __init__(self, address: Address) -> None:
        self._socket = address.connect()
        self._buffer = bytearray()
        #: of the current answer; 0 until its header has arrived
        self.status = 0
        #: whether the current answer has arrived completely
        self.finished = True
        #: bytes of the body that are missing; None if it comes in chunks
        self._missing: int | None = 0

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self, request: bytes) -> None:
        """Send a whole request; its answer is the current one from now on."""
        assert self.finished
        self.status, self.finished = 0, False
        rest = memoryview(request)
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                select.select([], [self._socket], [])

    def receive(self) -> bytes:
        """Read all that has arrived; returns the part of the body in it, without chunk sizes.

        Raises BenchmarkError if the site closed the connection.
        """
        while True:
            try:
                arrived = self._socket.recv(_CHUNK)
            except (BlockingIOError, ssl.SSLWantReadError):
                break
            if not arrived:
                raise BenchmarkError("the site closed a connection")
            self._buffer += arrived
        if not self.status and not self._take_header():
            return b""
        return self._take_chunks() if self._missing is None else self._take_plain()

    def _take_header(self) -> bool:
        end = self._buffer.find(_END_OF_HEADER)
        if end < 0:
            return False
        header = self._buffer[:end].lower()
        del self._buffer[: end + len(_END_OF_HEADER)]
        self.status = int(header[9:12])
        _, named, rest = header.partition(b"\r\ncontent-length:")
        self._missing = int(rest.partition(b"\r\n")[0]) if named else None
        return True

    def _take_plain(self) -> bytes:
        assert self._missing is not None
        body = bytes(self._buffer[: self._missing])
        del self._buffer[: self._missing]
        self._missing -= len(body)
        self.finished = not self._missing
        return body

    def _take_chunks(self) -> bytes:
        parts, position = [], 0
        while not self.finished:
            size_end = self._buffer.find(b"\r\n", position)
            if size_end < 0:
                break
            begin = size_end + 2
            end = begin + int(self._buffer[position:size_end], 16)
            if len(self._buffer) < end + 2:
                break
            parts.append(bytes(self._buffer[begin:end]))
            position, self.finished = end + 2, begin == end
        del self._buffer[:position]
        return b"".join(parts)

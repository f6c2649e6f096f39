"""Connections for http.client on which a whole exchange has one deadline."""

from __future__ import annotations

import io
import socket
import ssl
import time
from contextlib import suppress
from typing import Any

from apps.scheduler.outgoing.rules import OutgoingRules


def connect(host: str, port: int, *, rules: OutgoingRules, deadline: float) -> socket.socket:
    """Connect to the first address of the host that responds, of those that the site allows.

    Raises DestinationRefused, socket.gaierror, TimeoutError and other kinds of OSError.
    """
    *others, last = rules.resolve(host, port)
    for address in others:
        with suppress(ConnectionError):
            return socket.create_connection(address, seconds_until(deadline))
    return socket.create_connection(last, seconds_until(deadline))


def secured(
    sock: socket.socket, context: ssl.SSLContext | None, name: str, deadline: float
) -> DeadlineSocket:
    """A connected socket for http.client, with TLS if there is a context; closed if that fails.

    ``name`` is the one in the certificate of the server.
    """
    if context is None:
        return DeadlineSocket(sock, deadline)
    try:
        sock.settimeout(seconds_until(deadline))
        return DeadlineSocket(context.wrap_socket(sock, server_hostname=name), deadline)
    except BaseException:
        sock.close()
        raise


class DeadlineSocket:
    """A socket for http.client whose reads and writes all end at ``deadline``."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock = sock
        self.deadline = deadline
        #: http.client closes a connection before its last answer is read
        self._readers = 0
        self._closed = False

    def fileno(self) -> int:
        return self._sock.fileno()

    def sendall(self, data: Any) -> None:
        self._sock.settimeout(seconds_until(self.deadline))
        self._sock.sendall(data)

    def recv_into(self, buffer: Any) -> int:
        self._sock.settimeout(seconds_until(self.deadline))
        return self._sock.recv_into(buffer)

    def makefile(self, mode: str) -> io.BufferedReader:
        self._readers += 1
        return io.BufferedReader(_Reader(self))

    def reader_closed(self) -> None:
        self._readers -= 1
        self._close_if_unused()

    def close(self) -> None:
        self._closed = True
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        if self._closed and not self._readers:
            self._sock.close()


class _Reader(io.RawIOBase):
    def __init__(self, sock: DeadlineSocket) -> None:
        self._sock = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._sock.recv_into(buffer)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._sock.reader_closed()


def seconds_until(deadline: float) -> float:
    """The time left until a moment of time.monotonic(); raises TimeoutError if there is none."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left

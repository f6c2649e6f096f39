"""Sends the head of a response together with its body, in one system call and one TLS record.

uvicorn writes the head when the application sends it. It is held back here until the body follows,
or until the event loop has nothing else to run.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from schedweb.front.arriving import ArrivingProtocol
from schedweb.front.cluster_roots import SERVER_NAME

_HEAD: Final = b"HTTP/1."
#: Larger bodies are written on their own: copying them takes longer than a system call.
_LARGEST_JOINED: Final = 64 * 1024


class JoiningProtocol(ArrivingProtocol):
    """uvicorn's protocol, with fewer writes; requests carry the TLS server name."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(JoinedWrites(transport))
        connection = transport.get_extra_info("ssl_object")
        self._server_name = getattr(connection.context, "server_name", "") if connection else ""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._server_name:
            self.scope[SERVER_NAME] = self._server_name  # type: ignore[literal-required]


class JoinedWrites(asyncio.Transport):
    """A transport that holds back the head of a response until the next write."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._head = b""
        #: sends a head that no body has followed
        self._flushing: asyncio.TimerHandle | None = None

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if self._head and len(data) <= _LARGEST_JOINED:
            data = b"".join((self._take_head(), data))
            self._transport.write(data)
        elif not self._head and data[: len(_HEAD)] == _HEAD:
            self._head = bytes(data)
            # a timer, because one that is cancelled causes no round of the event loop
            self._flushing = self._loop.call_later(0, self._flush)
        else:
            self._flush()
            self._transport.write(data)

    def write_whole(self, response: bytes) -> None:
        """Write a response with its head and its body."""
        self._flush()
        self._transport.write(response)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._transport.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._transport.get_protocol()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def _flush(self) -> None:
        if self._head:
            self._transport.write(self._take_head())

    def _take_head(self) -> bytes:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        head, self._head = self._head, b""
        return head

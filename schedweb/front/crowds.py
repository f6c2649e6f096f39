"""The connections of one address: so many, and a few more that ask for health only."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from schedweb.front.asgi import Scope
from schedweb.front.threads import HEALTH_PATHS
from schedweb.front.trust import client_network, is_trusted

#: Connections of an address beyond its limit that may ask for health; others are closed at once.
SPARE: Final = 20

TOO_MANY: Final = b"429 Too Many Requests\r\nretry-after: 1"

#: The open connections of this process, by the network of their clients.
_open: Counter[str] = Counter()


class Crowded(Exception):
    """The address of the client has too many connections."""


class CountedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which counts the connections of each address.

    Those of trusted proxies are not counted: a proxy is one address for all its clients. Neither
    are WebSockets, which are streams, and limited as such.
    """

    _network: str | None = None
    _is_beyond_limit = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        most = settings.CONFIG.address_connections
        peer: Scope = {"client": self.client, "headers": []}
        if not most or self.client is None or is_trusted(peer):
            return
        self._network = client_network(peer)
        _open[self._network] += 1
        self._is_beyond_limit = _open[self._network] > most
        if _open[self._network] > most + SPARE:
            transport.close()

    def on_headers_complete(self) -> None:
        if not self._is_beyond_limit:
            super().on_headers_complete()
            return
        if self.url.partition(b"?")[0].decode("latin-1") not in HEALTH_PATHS:
            self.transport.write(
                b"HTTP/1.1 %s\r\nconnection: close\r\ncontent-length: 0\r\n\r\n" % TOO_MANY
            )
            self.transport.close()
            raise Crowded(self._network)
        super().on_headers_complete()
        self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def handle_websocket_upgrade(self) -> None:
        self._forget()
        super().handle_websocket_upgrade()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _forget(self) -> None:
        if self._network is not None:
            _open[self._network] -= 1
            if not _open[self._network]:
                del _open[self._network]
            self._network = None

"""Opens a port; a separate module, so that the supervisor need not load Django."""

from __future__ import annotations

import socket

BACKLOG = 1024


def listen(bind: str, port: int) -> socket.socket:
    """A listening socket. Raises OSError if the port is in use."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    # with the protocol: asyncio sends small responses at once only if it knows that it is TCP
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((bind, port))
    except OSError:
        listener.close()
        raise
    listener.listen(BACKLOG)
    return listener

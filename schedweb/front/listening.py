"""Opening a port; apart from the server, so that the supervisor need not load Django for it."""

from __future__ import annotations

import socket

BACKLOG = 1024


def listen(bind: str, port: int) -> socket.socket:
    """A listening socket. Raises OSError when the port is taken."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    # with its protocol named: asyncio sends small answers at once only where it knows it is TCP
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((bind, port))
    except OSError:
        listener.close()
        raise
    listener.listen(BACKLOG)
    return listener

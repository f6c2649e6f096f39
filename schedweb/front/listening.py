"""Opens a port; a separate module, so that the supervisor need not load Django."""

from __future__ import annotations

import socket

BACKLOG = 1024

#: Seconds after which the kernel drops a connection whose client reads nothing of what was sent.
UNREAD_SECONDS = 60


def listen_for(processes: int, bind: str, port: int) -> list[socket.socket]:
    """A listening socket for each of several processes. Raises OSError if the port is in use.

    Each connection is assigned to one of them by the kernel, which balances better than processes
    that accept from one socket: the first to wake would take all that wait.
    """
    first = listen(bind, port)
    if processes == 1:
        return [first]
    # a port that is shared could be taken over from another site; this one was found free
    port = first.getsockname()[1]
    first.close()
    return [listen(bind, port, shared=True) for _ in range(processes)]


def listen(bind: str, port: int, *, shared: bool = False) -> socket.socket:
    """A listening socket. Raises OSError if the port is in use."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    # with the protocol: asyncio sends small responses at once only if it knows that it is TCP
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # connections inherit it
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_SECONDS * 1000)
    if shared:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind((bind, port))
    except OSError:
        listener.close()
        raise
    listener.listen(BACKLOG)
    return listener

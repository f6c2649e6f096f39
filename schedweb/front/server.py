"""``python -m schedweb.front``: listen, serve, and end in good order."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import socket
import ssl
from collections.abc import Iterator
from functools import partial

import uvicorn
from django.conf import settings

from schedweb import tls
from schedweb.front.listening import listen
from schedweb.front.streams import Front
from schedweb.front.threads import WsgiInThreads

#: Threads for requests; more would wait for one another, not for the database.
THREADS = 16

#: Seconds that requests at work get when the front is told to end.
GRACE_SECONDS = 5


class Server(uvicorn.Server):
    """One port's server; signals are the business of :func:`serve`, which runs several."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(plain: socket.socket, secure: socket.socket) -> None:
    """Serve both sockets until SIGTERM or SIGINT."""
    from schedweb.wsgi import application

    threads = WsgiInThreads(application, threads=THREADS)
    front = Front(threads)
    servers = [
        Server(_uvicorn_config(front, certificates=None)),
        Server(_uvicorn_config(front, certificates=_certificates())),
    ]

    def end() -> None:
        front.end_streams()
        for server in servers:
            server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    await asyncio.gather(servers[0].serve([plain]), servers[1].serve([secure]))
    threads.close()


def _certificates() -> tls.Files:
    names = tls.server_names(settings.CONFIG.allowed_hosts)
    return tls.ensure(settings.DATA_DIR, names)


def _uvicorn_config(front: Front, *, certificates: tls.Files | None) -> uvicorn.Config:
    return uvicorn.Config(
        front,
        loop="asyncio",
        http="httptools",
        ws="none",
        lifespan="off",
        # Django's logging is set up already.
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_context_factory=partial(_context, certificates) if certificates else None,
    )


def _context(certificates: tls.Files, *uvicorn_default: object) -> ssl.SSLContext:
    return tls.server_context(certificates)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m schedweb.front")
    parser.add_argument("--fd", type=int, help="a listening socket for http, already open")
    parser.add_argument("--tls-fd", type=int, help="a listening socket for https, already open")
    arguments = parser.parse_args()
    config = settings.CONFIG
    plain = _socket(arguments.fd, config.bind, config.port)
    secure = _socket(arguments.tls_fd, config.bind, config.tls_port)
    asyncio.run(serve(plain, secure))


def _socket(descriptor: int | None, bind: str, port: int) -> socket.socket:
    return listen(bind, port) if descriptor is None else socket.socket(fileno=descriptor)

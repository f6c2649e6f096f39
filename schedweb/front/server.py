"""``python -m schedweb.front``: listen, serve, and shut down gracefully."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import math
import signal
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path

import uvicorn
from django.conf import settings

from apps.api import creation
from apps.cluster.log.listen import close_listener
from apps.engine.workers.guard import Guard
from schedweb import alive, gate, memory, tls
from schedweb.celery import connect_producer
from schedweb.front.cluster_roots import ClusterRoots, cluster_of, site_names
from schedweb.front.direct_creation import DirectProtocol
from schedweb.front.listening import listen
from schedweb.front.objects import ObjectsInThreads
from schedweb.front.standby import Standby
from schedweb.front.streams import Front
from schedweb.front.threads import Limits, WsgiInThreads
from schedweb.versions import exit_with_newer_database

log = logging.getLogger(__name__)

#: Threads for requests, and as many for streams; more would only compete.
THREADS = 16

#: Bytes of a message from the client of a WebSocket; watches expect none.
LARGEST_FRAME = 64 * 1024

#: Seconds for running requests to finish at shutdown.
GRACE_SECONDS = 5


#: For http and for https.
Sockets = tuple[socket.socket, socket.socket]


class Site:
    """The http port and the https port of one application, on one event loop."""

    def __init__(
        self,
        front: Front,
        *,
        plain: socket.socket,
        secure: socket.socket,
        data: Path,
        names: list[str],
        others: Sequence[Sockets] = (),
    ) -> None:
        self._front = front
        sites = site_names(settings.ALLOWED_HOSTS)
        application = ClusterRoots(front, settings.ALLOWED_HOSTS)
        #: those in the folder `data`, for servers with these `names`
        self.certificates = tls.Certificates(
            data, names, lambda name: cluster_of(name, sites) is not None
        )
        self._ports = (
            (_Port(uvicorn_config(application), [each for each, _ in others]), plain),
            (
                _Port(
                    uvicorn_config(application, self.certificates.context),
                    [each for _, each in others],
                ),
                secure,
            ),
        )

    async def run(self) -> None:
        """Serve until :meth:`end`, and close the connections of creations and streams."""
        renewal = asyncio.create_task(self._renew_certificates())
        try:
            await asyncio.gather(*(port.serve([listener]) for port, listener in self._ports))
        finally:
            renewal.cancel()
            await creation.close()
            await close_listener()

    def end(self) -> None:
        """On the event loop: close the streams, let requests finish, and make `run` return."""
        self._front.end_streams()
        for port, _ in self._ports:
            port.should_exit = True

    async def _renew_certificates(self) -> None:
        while True:
            await asyncio.sleep(tls.LOOK_SECONDS)
            try:
                await asyncio.to_thread(self.certificates.renew)
            except OSError:
                log.exception("could not renew the certificate of the https port")


class _Port(uvicorn.Server):
    """A port, and the sockets of other processes, whose connections it takes if they do not."""

    def __init__(self, config: uvicorn.Config, others: Sequence[socket.socket]) -> None:
        super().__init__(config)
        self._others = others
        self._standbys: list[Standby] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._standbys = [Standby(each, self._serve_one) for each in self._others]
        for standby in self._standbys:
            standby.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for standby in self._standbys:
            standby.stop()
        await super().shutdown(sockets)

    async def _serve_one(self, connection: socket.socket) -> None:
        """Serve a connection that was accepted elsewhere."""
        protocol = partial(
            DirectProtocol,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(protocol, connection, ssl=self.config.ssl)
        except OSError:
            # the client has gone, or speaks no TLS
            connection.close()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do not handle signals: several servers run in one process."""
        yield


def uvicorn_config(
    application: ClusterRoots, context: ssl.SSLContext | None = None
) -> uvicorn.Config:
    """The configuration of a port; https with a `context`."""
    return uvicorn.Config(
        application,
        loop="asyncio",
        http=DirectProtocol,
        ws="websockets-sansio",
        ws_max_size=LARGEST_FRAME,
        # compressing each event would take a window of memory for each watch
        ws_per_message_deflate=False,
        lifespan="off",
        # Django has configured logging.
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_context_factory=(lambda *defaults: context) if context else None,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m schedweb.front")
    parser.add_argument(
        "sockets",
        metavar="FD",
        nargs="*",
        type=int,
        help="listening sockets that are open already: for http and https, and those of others",
    )
    descriptors = parser.parse_args().sockets
    config = settings.CONFIG
    if descriptors:
        opened = [socket.socket(fileno=each) for each in descriptors]
    else:
        opened = [listen(config.bind, config.port), listen(config.bind, config.tls_port)]
    own, *others = zip(opened[::2], opened[1::2], strict=True)
    asyncio.run(_serve(own, others))


async def _serve(own: Sockets, others: Sequence[Sockets]) -> None:
    from schedweb.wsgi import application

    import_module(settings.ROOT_URLCONF)  # load all views, for which the first request would wait
    gate.wait()
    await asyncio.to_thread(exit_with_newer_database)
    config = settings.CONFIG
    memory_bytes = config.web_memory_megabytes * 1024 * 1024 or math.inf
    limits = Limits(
        config.max_requests_inflight, config.max_body_megabytes * 1024 * 1024, memory_bytes
    )
    threads = WsgiInThreads(application, threads=THREADS, limits=limits)
    site = Site(
        Front(ObjectsInThreads(threads)),
        plain=own[0],
        secure=own[1],
        others=others,
        data=settings.DATA_DIR,
        names=tls.server_names(config.allowed_hosts),
    )
    loop = asyncio.get_running_loop()
    # Streams run queries in the loop's default pool, whose size depends on the machine.
    loop.set_default_executor(ThreadPoolExecutor(THREADS, thread_name_prefix="stream"))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, site.end)
    threading.Thread(target=connect_producer, name="connect", daemon=True).start()
    memory.freeze_loaded_code()
    memory.Trimmer().start()
    guard = Guard()
    guard.start()
    living = asyncio.create_task(_show_life())
    await site.run()
    living.cancel()
    guard.stop()
    threads.close()


async def _show_life() -> None:
    """Show the supervisor that the event loop runs."""
    while True:
        alive.touch()
        await asyncio.sleep(alive.INTERVAL_SECONDS)

"""The load client: creates pods over keep-alive connections, and watches them, in one thread."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from bench.house.connection import Address, Connection
from bench.results import BenchmarkError

#: seconds for one measurement
LIMIT = 600.0
_CREATED = 201


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()


class Event(msgspec.Struct, frozen=True):
    """What the measurements need of a line of a watch."""

    type: str
    object: _Object


_decoder = msgspec.json.Decoder(Event)


class Watch:
    """A watch of the pods of a cluster, which starts with those that exist."""

    def __init__(self, address: Address, pods: str, on_event: Callable[[Event], None]) -> None:
        self._on_event = on_event
        self._line = b""
        self.connection = Connection(address)
        self.connection.send(address.request("GET", f"{pods}?watch=true&timeoutSeconds=3600"))

    def handle(self) -> None:
        """Read what has arrived, and pass on each event."""
        *lines, self._line = (self._line + self.connection.receive()).split(b"\n")
        if self.connection.status not in (0, 200) or self.connection.finished:
            raise BenchmarkError(f"a watch ended with status {self.connection.status}")
        for line in lines:
            event = _decoder.decode(line)
            if event.type == "ERROR":
                raise BenchmarkError(f"a watch failed: {line[:300].decode()}")
            self._on_event(event)


class Creator:
    """One client: POSTs the next body as soon as the last one is answered."""

    def __init__(self, address: Address) -> None:
        self.connection = Connection(address)
        self._requests: Iterator[bytes] = iter(())
        self._latencies: list[float] = []
        self._sent = 0.0

    def start(self, requests: Iterator[bytes], latencies: list[float]) -> None:
        """Send requests until there are no more; the seconds of each go into `latencies`."""
        self._requests, self._latencies = requests, latencies
        self._send_next()

    def handle(self) -> None:
        """Read what has arrived; after the whole answer, note its time and go on."""
        # the socket of an idle connection becomes readable when TLS sends tickets
        waited = not self.connection.finished
        body = self.connection.receive()
        if waited and self.connection.finished:
            self._latencies.append(time.perf_counter() - self._sent)
            if self.connection.status != _CREATED:
                message = body[:300].decode(errors="replace")
                raise BenchmarkError(f"POST: {self.connection.status} {message}")
            self._send_next()

    def _send_next(self) -> None:
        request = next(self._requests, None)
        if request is not None:
            self._sent = time.perf_counter()
            self.connection.send(request)


@dataclass(frozen=True, slots=True)
class Creations:
    """What `LoadClient.create` returns."""

    #: seconds from sending a request to its whole answer
    latencies: Sequence[float]
    #: from the first request to the last answer
    seconds: float


class LoadClient:
    """Connections to one cluster, served by one thread."""

    def __init__(self, address: Address, pods: str) -> None:
        self._address = address
        self._pods = pods
        self._selector = selectors.DefaultSelector()
        self._creators: list[Creator] = []

    def close(self) -> None:
        for key in list(self._selector.get_map().values()):
            key.data.connection.close()
        self._selector.close()

    def watch(self, on_event: Callable[[Event], None]) -> None:
        """Start to watch the pods; events are passed on while this client waits or creates."""
        self._add(Watch(self._address, self._pods, on_event))

    def connect(self, clients: int) -> None:
        """Open connections for this number of clients, if there are fewer."""
        while len(self._creators) < clients:
            self._creators.append(Creator(self._address))
            self._add(self._creators[-1])

    def create(self, bodies: Iterable[bytes], clients: int) -> Creations:
        """POST each body, over this number of connections at a time."""
        self.connect(clients)
        requests = [self._address.request("POST", self._pods, body) for body in bodies]
        latencies: list[float] = []
        rest = iter(requests)
        began = time.perf_counter()
        for creator in self._creators[:clients]:
            creator.start(rest, latencies)
        self.wait_until(lambda: len(latencies) == len(requests))
        return Creations(latencies, time.perf_counter() - began)

    def get(self, path: str) -> tuple[float, bytes]:
        """The seconds and the body of the answer to one GET, over a new connection."""
        parts: list[bytes] = []
        connection = Connection(self._address)
        began = time.perf_counter()
        connection.send(self._address.request("GET", path))
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ)
            while not connection.finished:
                selector.select(1.0)
                parts.append(connection.receive())
        seconds = time.perf_counter() - began
        connection.close()
        if connection.status != 200:
            raise BenchmarkError(f"GET {path}: {connection.status} {parts[0][:300].decode()}")
        return seconds, b"".join(parts)

    def wait_until(self, met: Callable[[], bool], limit: float = LIMIT) -> None:
        """Serve all connections until *met* holds; BenchmarkError after `limit` seconds."""
        deadline = time.monotonic() + limit
        while not met():
            if time.monotonic() > deadline:
                raise BenchmarkError(f"not finished after {limit:g} s")
            for key, _ in self._selector.select(1.0):
                key.data.handle()

    def _add(self, user: Watch | Creator) -> None:
        self._selector.register(user.connection, selectors.EVENT_READ, user)

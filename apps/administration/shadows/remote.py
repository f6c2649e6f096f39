"""Reads a real cluster: one list and one watch for each kind, and nothing else."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apps.cluster.kinds import Kind

log = logging.getLogger(__name__)

Body = dict[str, Any]

#: Objects of a page of a list.
_PAGE: Final = 500
#: A watch is opened again after this time at the latest.
_WATCH_SECONDS: Final = 300
#: Time after a failure until the next try, doubled each time up to the second number.
_FIRST_PAUSE, _LAST_PAUSE = 0.5, 30.0
#: Changes that wait to be written; a watch is not read further meanwhile.
_WAITING: Final = 20_000

Fetch = Callable[[str, Mapping[str, str]], Any]


class Expired(Exception):
    """The API server no longer has the changes since the version that was asked for."""


class NotServed(Exception):
    """The API server does not know the group of the kind, or not this version of it."""


class Refused(Exception):
    """The API server refuses the request; the message is for users."""


@dataclass(frozen=True, slots=True)
class Listed:
    """All objects of a kind."""

    kind: Kind
    bodies: list[Body]


@dataclass(frozen=True, slots=True)
class Changed:
    """A change of one object; `version` orders the changes of all kinds."""

    kind: Kind
    version: int
    body: Body
    is_deleted: bool


@dataclass(frozen=True, slots=True)
class Failed:
    """What stops a kind from being followed; `message` is empty once it is followed again."""

    kind: Kind
    message: str


News = Listed | Changed | Failed


class Remote:
    """The objects of a real cluster, kind by kind, in a thread each; `news` is what was read."""

    def __init__(self, connect: Callable[[], Fetch], kinds: tuple[Kind, ...]) -> None:
        """`connect` returns what sends a GET and returns the response, one for each thread."""
        self.kinds = kinds
        self.news: queue.Queue[News] = queue.Queue(_WAITING)
        self._connect = connect
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._follow, args=(kind,), name=kind.plural, daemon=True)
            for kind in kinds
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let the threads end; those that wait for the API server do so with the process."""
        self._stopping.set()

    def _follow(self, kind: Kind) -> None:
        pause, version, fault, fetch = _FIRST_PAUSE, "", "", self._connect()
        while not self._stopping.is_set():
            try:
                if not version:
                    version = self._list(kind, fetch)
                if fault:
                    fault = ""
                    self.news.put(Failed(kind, ""))
                for seen in self._watch(kind, fetch, version):
                    version, pause = seen, _FIRST_PAUSE
                continue
            except Expired:
                version = ""
                continue
            except NotServed:
                # as if there was none; a definition or another release may bring it
                self.news.put(Listed(kind, []))
                message, version, pause = "", "", _LAST_PAUSE
            except Refused as refusal:
                message, version = str(refusal), ""
            except Exception as error:
                # the library raises what its transport raises
                message = f"{type(error).__name__}: {error}"[:500]
                log.debug("%s cannot be followed", kind.plural, exc_info=True)
            if message != fault:
                fault = message
                self.news.put(Failed(kind, message))
            self._stopping.wait(pause)
            pause = min(2 * pause, _LAST_PAUSE)

    def _list(self, kind: Kind, fetch: Fetch) -> str:
        """Put all objects; returns the version of the list."""
        bodies: list[Body] = []
        query = {"limit": str(_PAGE)}
        while True:
            with closing(fetch(_path(kind), query)) as response:
                page = msgspec.json.decode(_read(response, kind))
            bodies += page.get("items") or ()
            metadata = page["metadata"]
            if not metadata.get("continue"):
                self.news.put(Listed(kind, bodies))
                version: str = metadata["resourceVersion"]
                return version
            query = {"limit": str(_PAGE), "continue": metadata["continue"]}

    def _watch(self, kind: Kind, fetch: Fetch, version: str) -> Iterator[str]:
        """Put the changes after a version; yields the version of each."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        with closing(fetch(_path(kind), query)) as response:
            if response.status != 200:
                _read(response, kind)
            for line in _lines(response):
                event = msgspec.json.decode(line)
                body = event["object"]
                if event["type"] == "ERROR":
                    raise Expired if body.get("code") == 410 else Refused(body.get("message", ""))
                version = body["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    deleted = event["type"] == "DELETED"
                    self.news.put(Changed(kind, int(version), body, deleted))
                yield version
                if self._stopping.is_set():
                    return


def _path(kind: Kind) -> str:
    base = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    return f"{base}/{kind.plural}"


def _read(response: Any, kind: Kind) -> bytes:
    """The body of a response; Expired, NotServed or Refused for another status than 200."""
    text: bytes = response.read()
    if response.status == 200:
        return text
    if response.status == 410:
        raise Expired
    try:
        message = msgspec.json.decode(text).get("message", "")
    except (msgspec.DecodeError, AttributeError):
        message = ""
    if response.status == 404 and kind.group:
        raise NotServed
    raise Refused(message[:500] or f"the API server answered {response.status}")


def _lines(response: Any) -> Iterator[bytes]:
    """The lines of a response, each as soon as it is complete."""
    rest = b""
    while chunk := response.read1(65_536):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from filter(None, lines)

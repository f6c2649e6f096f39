"""The two clusters in which a story takes place: requests, and time that passes."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from tests.api.replay import Replay, Views
from tools.truth.servers import RealServer, control_plane, our_server

Body = dict[str, Any]

#: The real controllers are at rest when nothing has been written for so long.
_QUIET_SECONDS = 1.7
#: They never are if it takes longer.
_MOST_SECONDS = 60.0
_POLL_SECONDS = 0.1


class World(Protocol):
    """A cluster whose nodes have no kubelets."""

    def now(self) -> datetime:
        """The time in this cluster."""

    def request(
        self, method: str, path: str, body: Body | None = None, form: str = "json"
    ) -> tuple[int, Body]:
        """Status and body of the answer; `form` is "json", or the form of a patch."""

    def settle(self, meanwhile: Callable[[], None] = lambda: None) -> str:
        """Let the controllers act until they have nothing to do at present.

        Returns the version of the cluster, which another write changes. `meanwhile` is called
        again and again where that takes a while.
        """

    def pass_time(self, seconds: float) -> None:
        """Let time pass, in which the controllers act."""


def path_of(kind: Kind, namespace: str = "", name: str = "", part: str = "") -> str:
    """The address of an object, or of all objects of a kind."""
    place = f"/namespaces/{namespace}" if namespace and kind.namespaced else ""
    root = "/apis" if kind.group else "/api"
    return "/".join(
        each for each in (f"{root}/{kind.api_version}{place}/{kind.plural}", name, part) if each
    )


def list_all(world: World, kind: str) -> list[Body]:
    """All objects of a kind, in all namespaces."""
    known_kind = kinds.by_name(kind)
    status, body = world.request("GET", path_of(known_kind))
    if status != 200:
        raise RuntimeError(f"LIST {kind}: {status} {body}")
    types = {"kind": known_kind.name, "apiVersion": known_kind.api_version}
    return [{**each, **types} for each in body["items"]]


def timestamp(world: World) -> str:
    """The time in this cluster, as in objects."""
    return world.now().strftime("%Y-%m-%dT%H:%M:%SZ")


class Real:
    """The real control plane with scheduler and controllers."""

    def __init__(self, server: RealServer, token: str = "real") -> None:
        self._root, self._token = server.root, token
        context = ssl._create_unverified_context()
        self._connection = http.client.HTTPSConnection(
            "127.0.0.1", server.port, timeout=_MOST_SECONDS, context=context
        )

    def now(self) -> datetime:
        return datetime.now(UTC)

    def request(
        self, method: str, path: str, body: Body | None = None, form: str = "json"
    ) -> tuple[int, Body]:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": f"application/{form}",
        }
        data = None if body is None else json.dumps(body)
        self._connection.request(method, self._root + path, body=data, headers=headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read() or b"{}")

    def settle(self, meanwhile: Callable[[], None] = lambda: None) -> str:
        began = since = time.monotonic()
        before = ""
        while time.monotonic() - since < _QUIET_SECONDS:
            if time.monotonic() - began > _MOST_SECONDS:
                raise RuntimeError("the real controllers do not come to rest")
            _, body = self.request("GET", "/api/v1/namespaces?limit=1")
            version = body["metadata"]["resourceVersion"]
            if version != before:
                before, since = version, time.monotonic()
            time.sleep(_POLL_SECONDS)
            meanwhile()
        return before

    def pass_time(self, seconds: float) -> None:
        time.sleep(seconds)


class Ours:
    """A cluster of ours with a clock of its own, without mock kubelets.

    ``began``: what its clock says first.
    """

    def __init__(self, replay: Replay, began: datetime | None = None) -> None:
        assert isinstance(replay.server, Views)
        self._replay = replay
        name = replay.server.root.rpartition("/")[2]
        self.cluster = Cluster.objects.get(name=name)
        self.cluster.paused, self.cluster.kubelet = False, False
        self.cluster.manual_time = began or datetime.now(UTC)
        self.cluster.save()
        self._engines = Engines()
        # the real one is started without the certificate of an authority
        settings.TLS_AUTHORITY_FILE.parent.mkdir(exist_ok=True)
        settings.TLS_AUTHORITY_FILE.touch()

    def now(self) -> datetime:
        return self.cluster.now()

    def request(
        self, method: str, path: str, body: Body | None = None, form: str = "json"
    ) -> tuple[int, Body]:
        headers = {"Content-Type": f"application/{form}"}
        step: Body = {"method": method, "path": path, "headers": headers}
        status, _, answer = self._replay.send(step if body is None else {**step, "body": body})
        return status, answer if isinstance(answer, dict) else {"message": answer}

    def settle(self, meanwhile: Callable[[], None] = lambda: None) -> str:
        while self._engines.run(self.cluster.pk):
            pass
        self.cluster.refresh_from_db()
        return str(self.cluster.resource_version)

    def pass_time(self, seconds: float) -> None:
        clock.advance(self.cluster, seconds)
        self.settle()


@contextmanager
def real_world(scripts: Path, folder: Path) -> Iterator[Real]:
    with control_plane(scripts, folder, "--scheduler", "--controllers") as server:
        yield Real(server)


@contextmanager
def our_world(began: datetime) -> Iterator[Ours]:
    with our_server() as replay:
        yield Ours(replay, began)

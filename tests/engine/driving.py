"""What tests of the loop share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any
from unittest.mock import patch

import yaml
from django.db import connection

from apps.cluster import kinds, queries
from apps.cluster.exchange import Answer, Exchange
from apps.cluster.models import Cluster, Pod
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.engine.profiles import revisions
from apps.scheduler.config import API_VERSION, KIND
from apps.scheduler.decision import Decision

ACTOR = Actor("tests", "request-9")
Body = dict[str, Any]


def pod(name: str, *, cpu: str = "100m", **spec: Any) -> Body:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def create_pods(cluster: Cluster, *bodies: Body) -> None:
    writes = [Create(kinds.POD, body, "default") for body in bodies]
    store.write(cluster, writes, actor=ACTOR)


def configure(cluster: Cluster, **parts: Any) -> None:
    """Make a configuration with these parts the active one."""
    text = yaml.safe_dump({"apiVersion": API_VERSION, "kind": KIND, **parts})
    revisions.add_revision(cluster, text, user="tests")


def enable(cluster: Cluster, *plugins: str) -> None:
    enabled = [{"name": name} for name in plugins]
    configure(cluster, profiles=[{"plugins": {"multiPoint": {"enabled": enabled}}}])


def node_of(cluster: Cluster, name: str) -> str:
    return Pod.objects.values_list("node_name", flat=True).get(cluster=cluster, name=name)


def status_of(cluster: Cluster, name: str) -> Body:
    status: Body = queries.get(cluster, kinds.POD, "default", name)["status"]
    return status


def decisions_on(cluster: Cluster, name: str) -> list[Decision]:
    """What the ledger has of a pod, oldest first."""
    rows = SchedulingDecision.objects.filter(cluster=cluster, name=name).order_by("id")
    return [read(row).decision for row in rows]


def run_until(engines: Engines, cluster: Cluster, done: Callable[[], Any]) -> None:
    """Run the loop as often as it takes."""
    until = monotonic() + 10
    while True:
        engines.run(cluster.pk)
        if done():
            return
        assert monotonic() < until, "the loop does not get there"


@dataclass
class Traffic:
    """What a block sends to the database."""

    #: SQL and parameters
    statements: list[tuple[str, Any]] = field(default_factory=list)
    #: how often it waits for the database
    round_trips: int = 0

    def about(self, *words: str) -> list[tuple[str, Any]]:
        """The statements in which one of these words occurs."""
        return [each for each in self.statements if any(word in each[0] for word in words)]

    def _note_query(self, execute: Callable[..., Any], sql: Any, params: Any, *more: Any) -> Any:
        self.statements.append((str(sql), params))
        self.round_trips += 1
        return execute(sql, params, *more)


@contextmanager
def traffic() -> Iterator[Traffic]:
    """The statements of this thread's connection in a block."""
    found = Traffic()
    send, receive = Exchange.send, Exchange.receive

    def noted_send(self: Exchange, sql: str, parameters: Sequence[Any] = ()) -> Answer:
        found.statements.append((sql, parameters))
        return send(self, sql, parameters)

    def noted_receive(self: Exchange) -> None:
        found.round_trips += 1
        receive(self)

    with (
        connection.execute_wrapper(found._note_query),
        patch.object(Exchange, "send", noted_send),
        patch.object(Exchange, "receive", noted_receive),
    ):
        yield found

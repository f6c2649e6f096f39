"""Calls the webhooks that one request meets, within the time and the number of calls it has."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from django.db import connection

from apps.cluster import kinds, queries
from apps.cluster.custom.conversion import in_version
from apps.cluster.errors import NotFound
from apps.cluster.kind import Kind
from apps.cluster.limits import WEBHOOK_CALLS, WEBHOOK_SECONDS
from apps.cluster.models import Cluster
from apps.cluster.webhook_client import CallFailed, post

Body = Mapping[str, Any]

_AGENT: Final = "kube-apiserver-admission"
#: Calls that processes make at the same time for all clusters.
_THREADS: Final = 32
_executor: ThreadPoolExecutor | None = None
_lock: Final = threading.Lock()


def webhooks_of(cluster: Cluster) -> StoreWebhooks | None:
    """What calls the webhooks of a cluster; None inside a transaction, which may hold locks."""
    return None if connection.in_atomic_block else StoreWebhooks(cluster)


class StoreWebhooks:
    """Calls the webhooks of a cluster in the database."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seconds = float(WEBHOOK_SECONDS.highest)
        self._calls = WEBHOOK_CALLS.highest

    def all(self, calls: Sequence[tuple[Body, Body, int]]) -> list[Any]:
        """The answers to reviews that are sent at the same time; CallFailed in place of one."""
        started = time.monotonic()
        # looked up here: threads have no connection to the database
        services = {id(client): self._service(client) for client, _, _ in calls}

        def call(client: Body, review: Body, seconds: int) -> Any:
            try:
                return self._post(client, review, seconds, services[id(client)])
            except CallFailed as failure:
                return failure

        if len(calls) == 1:
            answers = [call(*calls[0])]
        else:
            answers = list(_threads().map(lambda each: call(*each), calls))
        self._seconds -= time.monotonic() - started
        self._calls -= len(calls)
        return answers

    def convert(self, kind: Kind, body: Body, version: str) -> Body:
        """An object of a kind in another version."""
        return in_version(kind, dict(body), version, self)

    def _post(self, client: Body, review: Body, seconds: int, service: Body | None) -> Any:
        if self._calls <= 0:
            raise CallFailed(
                f"the webhooks of one request are called {WEBHOOK_CALLS.highest} times"
            )
        return post(
            client,
            review,
            timeout=max(min(float(seconds), self._seconds), 0),
            named_timeout=seconds,
            agent=_AGENT,
            cluster_id=self._cluster.pk,
            find_service=lambda namespace, name: service,
        )

    def _service(self, client: Body) -> Body | None:
        service = client.get("service")
        if service is None:
            return None
        kind = kinds.by_name("Service")
        try:
            return queries.get(self._cluster, kind, service["namespace"], service["name"])
        except NotFound:
            return None


def _threads() -> ThreadPoolExecutor:
    global _executor
    with _lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="webhook")
        return _executor

"""Clients for the fault tests: create pods until each is accepted, watch without gaps."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.faults.invariants import NOWHERE
from tests.stack.running_site import RunningSite

_CONTAINER = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}
#: A request without a response for this long is sent again.
TIMEOUT_SECONDS = 60.0


class Client:
    """One connection to a site, reopened after every failure; counts the failures."""

    def __init__(self, site: RunningSite, token: str) -> None:
        # a restarting site may not have published its port yet
        self._port = site.port()
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._web: http.client.HTTPConnection | None = None
        self.failures: Counter[str] = Counter()

    def send(
        self, method: str, path: str, body: Any = None, *, kind: str = "application/json"
    ) -> int:
        """The status of the response; 0 if there was none. A text is sent as it is."""
        text = body if isinstance(body, str) else json.dumps(body)
        try:
            if self._web is None:
                self._web = self._connect()
            self._web.request(method, path, text, self._headers | {"Content-Type": kind})
            answer = self._web.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.failures[type(error).__name__] += 1
            self.close()
            return 0
        if answer.status >= 500:
            self.failures[
                f"{answer.status} {answer.headers.get('Retry-After', 'no Retry-After')}"
            ] += 1
        return answer.status

    def create_cluster(self, name: str, *, nodes: int, paused: bool = False) -> None:
        body = {"name": name, "nodes": nodes, "zones": 3, "paused": paused}
        # a clock that jumps ahead would expire them
        body["event_ttl_seconds"] = 0
        assert self.send("POST", "/api/v1/clusters", body) == 201

    @contextmanager
    def stream(self, path: str) -> Iterator[http.client.HTTPResponse]:
        """A stream on a separate connection."""
        web = self._connect()
        try:
            web.request("GET", path, headers=self._headers)
            with web.getresponse() as answer:
                yield answer
        finally:
            web.close()

    def close(self) -> None:
        if self._web is not None:
            self._web.close()
            self._web = None

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("localhost", self._port, timeout=TIMEOUT_SECONDS)


class Poster(threading.Thread):
    """Creates the pods of one cluster, and repeats each request until the pod exists.

    Takes at least `seconds`.
    """

    def __init__(
        self,
        site: RunningSite,
        token: str,
        cluster: str,
        count: int,
        seed: int,
        seconds: float = 0.0,
    ) -> None:
        super().__init__(name=f"poster {cluster}", daemon=True)
        self._pause = seconds / max(1, count)
        self.client = Client(site, token)
        self.cluster = cluster
        self.pods = {f"p{number:05}" for number in range(count)}
        #: number of pods that the server has accepted
        self.accepted = 0
        #: responses that are not allowed
        self.errors: Counter[str] = Counter()
        self._random = random.Random(seed)

    def run(self) -> None:
        path = f"/k8s/{self.cluster}/api/v1/namespaces/default/pods"
        for name in sorted(self.pods):
            body = self._build_pod(name)
            is_retry = False
            while True:
                status = self.client.send("POST", path, body)
                if status == 201 or (status == 409 and is_retry):
                    # created by this request, or by an earlier one whose response was lost
                    break
                # 507: the disk is full
                if status not in (0, 503, 507):
                    self.errors[f"POST returned {status}"] += 1
                is_retry = True
                time.sleep(0.2)
            self.accepted += 1
            time.sleep(self._pause)
        self.client.close()

    def _build_pod(self, name: str) -> dict[str, Any]:
        draw = self._random.random()
        labels, spec = {"app": "soak"}, {"containers": [_CONTAINER]}
        if draw < 0.02:
            labels[NOWHERE] = "true"
            spec["nodeSelector"] = {"there-is": "none"}  # type: ignore[assignment]
        elif draw < 0.12:
            term = {
                "labelSelector": {"matchLabels": {"app": "soak"}},
                "topologyKey": "topology.kubernetes.io/zone",
            }
            affinity = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            spec["affinity"] = {"podAffinity": affinity}  # type: ignore[assignment]
        return {"metadata": {"name": name, "labels": labels}, "spec": spec}


class Watcher(threading.Thread):
    """Watches the pods of a cluster, reconnects after failures, and stores every version.

    A watch that cannot continue where it ended (410) is an error: no change is deleted here.
    """

    def __init__(self, site: RunningSite, token: str, cluster: str) -> None:
        super().__init__(name=f"watcher {cluster}", daemon=True)
        self.cluster = cluster
        self.versions: list[int] = []
        self.reconnects = -1
        self.errors: Counter[str] = Counter()
        self._client = Client(site, token)
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.is_set():
            self.reconnects += 1
            try:
                self._watch()
            except (OSError, http.client.HTTPException, ValueError):
                # the connection may break in the middle of a line
                self._stopped.wait(0.2)

    def stop(self) -> None:
        self._stopped.set()

    def _watch(self) -> None:
        last = self.versions[-1] if self.versions else 0
        path = f"/k8s/{self.cluster}/api/v1/pods?watch=true&timeoutSeconds=20&resourceVersion="
        with self._client.stream(f"{path}{last or 1}") as answer:
            if answer.status != 200:
                if answer.status != 503:
                    self.errors[f"a watch returned {answer.status}"] += 1
                return
            while not self._stopped.is_set() and (line := answer.readline()):
                self._take(json.loads(line))

    def _take(self, event: dict[str, Any]) -> None:
        if event["type"] == "ERROR":
            self.errors[f"a watch ended with {event['object'].get('reason')}"] += 1
            return
        self.versions.append(int(event["object"]["metadata"]["resourceVersion"]))

"""Measures how long a site takes after a fault until it schedules again: one pod after another."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from tests.faults.load import Client
from tests.stack.running_site import RunningSite

Body = dict[str, dict[str, str]]

CLUSTER = "probe"
#: A probe without an answer for this long is sent again on a new connection.
_PATIENCE = 3.0
_GIVEN_UP = 120.0


@dataclass(frozen=True, slots=True)
class Struck:
    """A fault: what, when, and until when a recovery is impossible."""

    name: str
    at: float
    until: float


class Probe(threading.Thread):
    """Creates a pod, waits until it is bound, deletes it, and starts again."""

    def __init__(self, site: RunningSite, token: str) -> None:
        super().__init__(name="probe", daemon=True)
        self._port = site.port()
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        client = Client(site, token)
        client.create_cluster(CLUSTER, nodes=2)
        client.close()
        self._stopped = threading.Event()
        #: (started, bound) of each pod
        self.successes: list[tuple[float, float]] = []

    def run(self) -> None:
        number = 0
        while not self._stopped.is_set():
            number += 1
            began = time.monotonic()
            if self._schedule(f"probe-{number}"):
                self.successes.append((began, time.monotonic()))
            self._stopped.wait(0.1)

    def stop(self) -> None:
        self._stopped.set()
        self.join()

    def recovery(self, fault: Struck) -> float | None:
        """Seconds from the fault, or its end, until a later pod is bound; None if none was."""
        bound = [done for began, done in self.successes if began >= fault.at and done > fault.until]
        return max(0.0, min(bound) - fault.until) if bound else None

    def wait(self, fault: Struck) -> None:
        """Wait until the site has recovered from the fault, at most `_GIVEN_UP` seconds."""
        while time.monotonic() < fault.until + _GIVEN_UP and self.recovery(fault) is None:
            time.sleep(0.1)

    def outages(self, faults: Iterable[Struck]) -> list[float | None]:
        """The recovery after each outage: faults that struck before the site had recovered.

        Seconds from the end of the outage's last fault until a later pod is bound.
        """
        found: list[Struck] = []
        for fault in sorted(faults, key=lambda each: each.at):
            recovery = self.recovery(found[-1]) if found else None
            if not found or (recovery is not None and fault.at > found[-1].until + recovery):
                found.append(fault)
                continue
            last = found[-1]
            found[-1] = Struck(last.name, fault.at, max(last.until, fault.until))
        return [self.recovery(each) for each in found]

    def _schedule(self, name: str) -> bool:
        path = f"/k8s/{CLUSTER}/api/v1/namespaces/default/pods"
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1m"}}}
        pod = {"metadata": {"name": name}, "spec": {"containers": [container]}}
        if self._send("POST", path, pod)[0] != 201:
            return False
        deadline = time.monotonic() + _PATIENCE
        bound = False
        while not bound and time.monotonic() < deadline and not self._stopped.is_set():
            bound = bool(self._send("GET", f"{path}/{name}")[1].get("spec", {}).get("nodeName"))
            time.sleep(0.05)
        self._send("DELETE", f"{path}/{name}", {"gracePeriodSeconds": 0})
        return bound

    def _send(
        self, method: str, path: str, body: object = None
    ) -> tuple[int, dict[str, dict[str, str]]]:
        web = http.client.HTTPConnection("localhost", self._port, timeout=_PATIENCE)
        try:
            web.request(method, path, json.dumps(body), self._headers)
            answer = web.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return 0, {}
        finally:
            web.close()

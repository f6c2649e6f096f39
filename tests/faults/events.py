"""Faults that are no signal to a process: lost connections, a full disk, a clock that jumps …"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import psycopg
import yaml

from tests.faults.chaos import Chaos
from tests.faults.clock import Clock
from tests.faults.load import Client
from tests.faults.recovery import CLUSTER
from tests.stack.running_site import ROOT, RunningSite

#: A cluster for operations and imports, which the load does not touch.
ASIDE = "aside"
BATCH = 200

ACTIVATIONS = 6
_CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {{multiPoint: {{enabled: [{{name: TaintToleration, weight: {}}}]}}}}
"""

#: The newest clusters, with pods that wait.
_PENDING = """
    SELECT c.name, ARRAY(
        SELECT 'default/' || name FROM controlplane_queueentry WHERE cluster_id = c.id LIMIT 20
    )
    FROM cluster_cluster c ORDER BY c.id DESC LIMIT 3
"""

_MAINTENANCE = """
from datetime import date, timedelta
from django.db import connection
from apps.studies.history import retention
from apps.cluster.partitions import daily
for number in range(30):
    daily.prepare_all()
    for table in daily.TABLES:
        day = date(2080, 1, 1) + timedelta(days=number)
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"DROP TABLE IF EXISTS {daily.partition_name(table, day)}")
            daily.add_day(cursor, table, day)
            cursor.execute("COMMIT")
            cursor.execute(f"DROP TABLE {daily.partition_name(table, day)}")
    retention.run(1)
"""


class Events:
    """The faults by name, for `Chaos.events`; remembers what has to be there at the end."""

    def __init__(
        self,
        site: RunningSite,
        token: str,
        clock: Clock | None = None,
        fail_over: Callable[[], None] = lambda: None,
    ) -> None:
        """`fail_over`: loses the database server for good; another one takes over."""
        self._site = site
        self._fail_over = fail_over
        self._client = Client(site, token)
        self._clock = clock
        self._batches = 0
        self._client.create_cluster(ASIDE, nodes=20)
        hook = {"url": "http://localhost:9/", "kinds": ["pod.scheduled"]}
        assert self._client.send("POST", f"/api/v1/clusters/{CLUSTER}/webhooks", hook) == 201

    def functions(self) -> dict[str, Callable[[Chaos, random.Random], None]]:
        return {
            "lost connections": self.lose_connections,
            "full connection table": self.fill_connections,
            "dead name server": self.lose_names,
            "activation": self.activate_profiles,
            "failover": self.fail_over,
            "second start": self.start_twice,
            "killed operation": self.kill_operation,
            "killed import": self.kill_import,
            "killed maintenance": self.kill_maintenance,
            "full disk": self.fill_disk,
            "read-only disk": self.make_read_only,
            "clock jump": self.set_clock,
        }

    def lose_connections(self, chaos: Chaos, draw: random.Random) -> None:
        """The server ends half of its connections, as a network that is interrupted."""
        try:
            with psycopg.connect(self._site.database_url, connect_timeout=10) as database:
                database.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
                    "current_database() AND pid <> pg_backend_pid() AND pid %% 2 = %s",
                    [draw.randrange(2)],
                )
        except (psycopg.OperationalError, OSError):
            # an earlier fault still lasts
            return

    def fill_connections(self, chaos: Chaos, draw: random.Random) -> None:
        """Another program takes every connection that the database has left."""
        taken = []
        try:
            while True:
                taken.append(psycopg.connect(self._site.database_url, connect_timeout=10))
        except (psycopg.OperationalError, OSError):
            # none is left, or an earlier fault still lasts
            time.sleep(draw.choice((3.0, 10.0)))
        for each in taken:
            each.close()

    def lose_names(self, chaos: Chaos, draw: random.Random) -> None:
        """No name server answers, while events wait for a webhook whose address has a name."""
        assert self._clock is not None
        self._clock.lose_names(True)
        time.sleep(draw.choice((6.0, 15.0)))
        self._clock.lose_names(False)

    def activate_profiles(self, chaos: Chaos, draw: random.Random) -> None:
        """A user activates revisions and pods again and again; a worker is killed meanwhile."""
        try:
            with psycopg.connect(self._site.database_url, connect_timeout=10) as database:
                rows = database.execute(_PENDING).fetchall()
        except (psycopg.OperationalError, OSError):
            # an earlier fault still lasts
            return
        for number in range(ACTIVATIONS):
            name, pods = draw.choice(rows)
            path = f"/api/v1/clusters/{name}"
            text = _CONFIGURATION.format(draw.randrange(1, 100))
            statuses = [self._insist(f"{path}/profiles", {"configuration": text})]
            if pods:
                statuses.append(self._insist(f"{path}/queue/activate", {"pods": pods}))
            # 422: a pod is no longer pending
            if not {*statuses} <= {201, 202, 422}:
                chaos.errors.append(f"activations in {name} were answered with {statuses}")
            if number == ACTIVATIONS // 2:
                chaos.kill("worker")

    def _insist(self, path: str, body: dict[str, object]) -> int:
        """Send a request until it is answered; the status of the answer."""
        while (status := self._client.send("POST", path, body)) in (0, 503, 507):
            time.sleep(0.2)
        return status

    def fail_over(self, chaos: Chaos, draw: random.Random) -> None:
        """The database server is lost for good; its standby takes over."""
        self._fail_over()

    def start_twice(self, chaos: Chaos, draw: random.Random) -> None:
        """A second `make up` on the data folder ends at once and says who uses it."""
        second = self._site.spawn()
        said, _ = second.communicate(timeout=120)
        if second.returncode != 1 or "is in use by make up" not in said:
            chaos.errors.append(f"a second start ended with {second.returncode}: {said}")

    def kill_operation(self, chaos: Chaos, draw: random.Random) -> None:
        """A worker is killed during an export or a drain."""
        path = f"/api/v1/clusters/{ASIDE}/exports"
        body: dict[str, object] = {}
        if draw.random() < 0.5:
            path = f"/api/v1/clusters/{ASIDE}/nodes/node-{draw.randrange(20)}/drain"
            body = {"force": True}
        self._client.send("POST", path, body)
        time.sleep(draw.random())
        chaos.kill("worker")

    def kill_import(self, chaos: Chaos, draw: random.Random) -> None:
        """The web process or the database is killed during an import, which is then repeated."""
        number = self._batches
        self._batches += 1
        objects = [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": f"b{number}-{place}", "namespace": "default"},
            }
            for place in range(BATCH)
        ]
        text = yaml.safe_dump_all(objects)
        sender = threading.Thread(target=self._import, args=(text,))
        sender.start()
        time.sleep(draw.random())
        chaos.kill(draw.choice(("web", "database")))
        sender.join()

    def _import(self, text: str) -> None:
        path = f"/api/v1/clusters/{ASIDE}/import"
        # 409: an earlier attempt has succeeded, and its answer was lost
        while self._client.send("POST", path, text, kind="application/yaml") not in (200, 201, 409):
            time.sleep(0.2)

    def kill_maintenance(self, chaos: Chaos, draw: random.Random) -> None:
        """A process is killed that creates and drops partitions and deletes old records."""
        process = subprocess.Popen(
            [sys.executable, "manage.py", "shell", "-v", "0", "-c", _MAINTENANCE],
            cwd=ROOT,
            env=self._site.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(2 + 6 * draw.random())
        process.kill()
        process.wait()

    def fill_disk(self, chaos: Chaos, draw: random.Random) -> None:
        """The disk is full for some seconds; sometimes to the last byte."""
        assert chaos.disk is not None
        chaos.disk.fill(draw.choice((0, 0, 20, 100, 200)))
        time.sleep(draw.choice((3.0, 10.0, 20.0)))
        chaos.disk.empty()

    def make_read_only(self, chaos: Chaos, draw: random.Random) -> None:
        """After a power failure the disk is read-only at first: the start is refused."""
        processes = list(self._site.processes())

        def start() -> None:
            assert chaos.disk is not None
            for each in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            chaos.disk.set_read_only(True)
            try:
                process = self._site.spawn()
                said, _ = process.communicate(timeout=120)
            finally:
                chaos.disk.set_read_only(False)
            if process.returncode == 0 or "not started: " not in said:
                chaos.errors.append(f"a start on a read-only disk: {process.returncode}: {said}")

        chaos.restart(start)

    def set_clock(self, chaos: Chaos, draw: random.Random) -> None:
        """The clocks of all processes jump, back or ahead, and some seconds later to the truth."""
        assert self._clock is not None
        self._clock.set(draw.choice((-86_400, -3600, -40, 40, 3600, 86_400)))
        time.sleep(draw.choice((3.0, 15.0)))
        self._clock.set(0)

    def check(self) -> list[str]:
        """Every operation has ended, and every import is there as a whole."""
        deadline = time.monotonic() + 300
        states: dict[str, int] = {"running": 1}
        while {"waiting", "running"} & set(states) and time.monotonic() < deadline:
            time.sleep(0.5)
            with psycopg.connect(self._site.database_url) as database:
                rows = database.execute(
                    "SELECT state, count(*) FROM controlplane_operation GROUP BY state"
                )
                states = {str(state): int(str(count)) for state, count in rows.fetchall()}
                found = database.execute(
                    "SELECT count(*) FROM cluster_dataobject WHERE kind = 'ConfigMap' "
                    "AND name ~ '^b[0-9]+-'"
                ).fetchall()[0][0]
        errors = [f"{count} operations are {s}" for s, count in states.items() if s != "succeeded"]
        if found != self._batches * BATCH:
            errors.append(f"{found} objects were imported, not {self._batches} times {BATCH}")
        return errors

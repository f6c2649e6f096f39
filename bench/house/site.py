"""The site that is measured: one of its own on a new data folder, or one that runs already."""

from __future__ import annotations

import re
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from bench import processes
from bench.house import pods
from bench.house.client import Event, LoadClient
from bench.house.connection import Address
from tests.stack.running_site import RunningSite

#: the role of a process by a part of its command line
ROLES = {
    "schedweb.front": "web",
    "schedweb.worker": "worker",
    "schedweb.beat": "beat",
    "schedweb.forkserver": "forks",
    "postgres": "database",
}


class Site:
    """A running site, of which only the address is known."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._clusters = 0
        self._prefix = f"bench-{int(time.time()):x}"

    def processes(self) -> dict[str, list[int]]:
        """Role -> process ids; {} if they are not known."""
        return {}

    def memory(self) -> dict[str, float]:
        """`{role}_rss_mb` and `{role}_pss_mb`, summed over the role's processes."""
        sizes: defaultdict[str, float] = defaultdict(float)
        for role, ids in self.processes().items():
            for process in ids:
                for figure, value in processes.memory(process).items():
                    sizes[f"{role}_{figure}"] += value
        return dict(sizes)

    def processor_seconds(self) -> dict[str, float]:
        """Role -> processor time so far."""
        return {role: processes.seconds(ids) for role, ids in self.processes().items()}

    def create_cluster(self, nodes: int = 0, *, paused: bool = False) -> Cluster:
        """A new cluster of this many nodes, which are imported at once."""
        self._clusters += 1
        name = f"{self._prefix}-{self._clusters}"
        self.address.call("POST", "/api/v1/clusters", {"name": name, "paused": paused})
        cluster = Cluster(self.address, name)
        if nodes:
            cluster.import_objects(list(pods.nodes(nodes)))
        return cluster


class OwnSite(Site):
    """A site that was started for the measurement."""

    def __init__(self, running: RunningSite, scheme: str) -> None:
        config = yaml.safe_load(running.manage("kubeconfig", "demo", "--user", "admin"))
        url = f"{scheme}://localhost:{running.port(scheme)}"
        super().__init__(Address(url, config["users"][0]["user"]["token"]))
        self.running = running

    def processes(self) -> dict[str, list[int]]:
        by_role: defaultdict[str, list[int]] = defaultdict(list)
        for process, line in self.running.processes().items():
            role = next((role for part, role in ROLES.items() if re.search(part, line)), "other")
            by_role[role].append(process)
        return dict(by_role)


class Cluster:
    """A cluster of the site that is measured."""

    def __init__(self, address: Address, name: str) -> None:
        self.address = address
        self.name = name
        self.pods = f"/k8s/{name}{pods.PODS}"

    def import_objects(self, bodies: list[dict[str, Any]]) -> None:
        """Create all objects in one request."""
        stream = {"apiVersion": "v1", "kind": "List", "items": bodies}
        path = f"/api/v1/clusters/{self.name}/import"
        self.address.call("POST", path, stream, kind="application/yaml")

    def pause(self) -> None:
        """Stop loop and controllers, so that the cluster does not disturb the next measurement."""
        self.address.call("POST", f"/api/v1/clusters/{self.name}/pause")

    def resume(self) -> None:
        self.address.call("POST", f"/api/v1/clusters/{self.name}/resume")

    def warm_up(self) -> None:
        """Wait until a first pod runs, so that the loop has read the nodes."""
        phases: set[str] = set()

        def note(event: Event) -> None:
            phases.add(event.object.status.phase)

        with self.client() as client:
            client.watch(note)
            client.create([pods.encode(pods.pod("warm-up"))], 1)
            client.wait_until(lambda: "Running" in phases)

    @contextmanager
    def client(self) -> Iterator[LoadClient]:
        client = LoadClient(self.address, self.pods)
        try:
            yield client
        finally:
            client.close()


@contextmanager
def own_site(scheme: str) -> Iterator[OwnSite]:
    """Start a site with its own data folder on free ports; it is stopped and deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="schedweb-bench-") as folder:
        # the database's user needs access
        Path(folder).chmod(0o755)
        running = RunningSite(Path(folder, "data"))
        try:
            running.start()
            yield OwnSite(running, scheme)
            running.end(signal.SIGTERM)
        finally:
            running.close()

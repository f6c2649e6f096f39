"""A real control plane to compare with: etcd, kube-apiserver and kube-scheduler, no kubelets."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.house import pods
from bench.house.client import Event, LoadClient
from bench.house.connection import Address
from bench.house.site import Cluster, Site
from bench.results import BenchmarkError

#: connections that create nodes
_CREATORS = 16
_COLLECTIONS = {"Pod": pods.PODS, "Node": "/api/v1/nodes"}
_MERGE = "application/merge-patch+json"


class RealStack(Site):
    """One cluster: a measurement begins without nodes and without pods in the default namespace."""

    def __init__(self, address: Address, scheduler: int = 0) -> None:
        """`scheduler`: the process to stop while pods are only created; 0 if it is not known."""
        super().__init__(address)
        self._scheduler = scheduler

    def create_cluster(self, nodes: int = 0, *, paused: bool = False) -> Cluster:
        self.signal_scheduler(signal.SIGSTOP if paused else signal.SIGCONT)
        for collection in _COLLECTIONS.values():
            self.address.call("DELETE", f"{collection}?gracePeriodSeconds=0")
        cluster = _RealCluster(self)
        cluster.import_objects(list(pods.nodes(nodes)))
        return cluster

    def signal_scheduler(self, number: signal.Signals) -> None:
        if self._scheduler:
            os.kill(self._scheduler, number)


class _RealCluster(Cluster):
    def __init__(self, stack: RealStack) -> None:
        super().__init__(stack.address, "")
        self._stack = stack
        self.pods = pods.PODS

    def import_objects(self, bodies: list[dict[str, Any]]) -> None:
        by_kind: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for body in bodies:
            by_kind[body["kind"]].append(body)
        for kind, of_kind in by_kind.items():
            client = LoadClient(self.address, _COLLECTIONS[kind])
            client.create(map(pods.encode, of_kind), _CREATORS)
            client.close()
        # admission taints new nodes as not ready, which a controller would end
        for node in by_kind["Node"]:
            path = f"{_COLLECTIONS['Node']}/{node['metadata']['name']}"
            self.address.call("PATCH", path, {"spec": {"taints": None}}, kind=_MERGE)

    def pause(self) -> None:
        self._stack.signal_scheduler(signal.SIGSTOP)

    def resume(self) -> None:
        self._stack.signal_scheduler(signal.SIGCONT)

    def warm_up(self) -> None:
        """Wait until a first pod is bound; without kubelets none runs."""
        nodes: set[str] = set()

        def note(event: Event) -> None:
            nodes.add(event.object.spec.node_name)

        with self.client() as client:
            client.watch(note)
            client.create([pods.encode(pods.pod("warm-up"))], 1)
            client.wait_until(lambda: bool(nodes - {""}))


@contextmanager
def own_stack(scripts: Path) -> Iterator[RealStack]:
    """Start a stack with the scripts `start` and `stop` of a folder; it is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="schedweb-real-") as folder:
        start = ["bash", str(scripts / "start"), folder, str(_free_port()), "--scheduler"]
        try:
            # what it starts keeps its standard error open
            ended = subprocess.run(start, stdout=subprocess.PIPE, text=True, check=True)
            scheduler = int(Path(folder, "kube-scheduler.pid").read_text())
            stack = RealStack(Address(ended.stdout.split()[-1], "real"), scheduler)
            yield stack
            stack.signal_scheduler(signal.SIGCONT)
        except subprocess.CalledProcessError as error:
            raise BenchmarkError(f"{start[1]} ended with status {error.returncode}") from error
        finally:
            subprocess.run(["bash", str(scripts / "stop"), folder], check=True)


def _free_port() -> int:
    """A port that was free a moment ago with the two after it."""
    while True:
        with socket.socket() as first, socket.socket() as second, socket.socket() as third:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                second.bind(("127.0.0.1", port + 1))
                third.bind(("127.0.0.1", port + 2))
            except (OSError, OverflowError):
                continue
            return port

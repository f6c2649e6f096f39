"""What creates pods and waits for them: the client of this package, or the one in Go.

A loader's figures are those of one run; `client_s` is the processor time of the client itself, and
`seconds` the time that the figures cover.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from bench.house import pods
from bench.house.client import LIMIT, Event
from bench.house.site import Cluster
from bench.results import BenchmarkError, Figures, percentile

#: seconds between two pods of the latency measurement, so that the loop is quiet again
PAUSE = 0.005


class Loader(Protocol):
    def create(self, cluster: Cluster, count: int, clients: int, size: int) -> Figures:
        """POST pods of `size` bytes."""

    def end_to_end(self, cluster: Cluster, count: int, clients: int) -> Figures:
        """POST pods, from the first request until a watch has shown that the last one is bound."""

    def latency(self, cluster: Cluster, count: int) -> Figures:
        """POST one pod at a time, from the request until a watch has shown that it is bound."""


class PythonLoader:
    """The client of this package, in this process."""

    def create(self, cluster: Cluster, count: int, clients: int, size: int) -> Figures:
        bodies = [pods.encode(pods.pod(f"post-{n:06}", size)) for n in range(count)]
        with cluster.client() as client:
            client.connect(clients)
            worked = time.process_time()
            created = client.create(bodies, clients)
            worked = time.process_time() - worked
        return {
            "pods": len(created.latencies),
            "seconds": created.seconds,
            "pods_per_s": len(created.latencies) / created.seconds,
            **latency_figures(created.latencies),
            "client_s": worked,
        }

    def end_to_end(self, cluster: Cluster, count: int, clients: int) -> Figures:
        bodies = [pods.encode(pods.pod(f"load-{n:06}")) for n in range(count)]
        bound = BoundPods("load-")
        with cluster.client() as client:
            client.watch(bound.note)
            client.connect(clients)
            began, worked = time.perf_counter(), time.process_time()
            created = client.create(bodies, clients)
            client.wait_until(lambda: len(bound.at) == count)
            worked = time.process_time() - worked
        seconds = max(bound.at.values()) - began
        return {
            "pods": len(bound.at),
            "seconds": seconds,
            "pods_per_s": count / seconds,
            "created_per_s": count / created.seconds,
            "client_s": worked,
        }

    def latency(self, cluster: Cluster, count: int) -> Figures:
        bound = BoundPods("idle-")
        waited: list[float] = []
        posts: list[float] = []
        with cluster.client() as client:
            client.watch(bound.note)
            client.connect(1)
            worked, started = time.process_time(), time.perf_counter()
            for number in range(count):
                name = f"idle-{number:06}"
                began = time.perf_counter()
                posts += client.create([pods.encode(pods.pod(name))], 1).latencies
                client.wait_until(partial(bound.__contains__, name))
                waited.append(bound.at[name] - began)
                time.sleep(PAUSE)
            worked = time.process_time() - worked
        return {
            "pods": len(bound.at),
            "seconds": time.perf_counter() - started,
            **latency_figures(waited),
            "post_p50_ms": percentile(posts, 50) * 1000,
            "client_s": worked,
        }


class GoLoader:
    """The load client in Go, a program at this path."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def create(self, cluster: Cluster, count: int, clients: int, size: int) -> Figures:
        said = self._run(cluster, "create", count=count, concurrency=clients, size=size)
        figures = ("seconds", "p50_ms", "p90_ms", "p99_ms")
        return {
            "pods": count,
            **{name: said[name] for name in figures},
            "pods_per_s": said["per_s"],
            "client_s": said["client_cpu_s"],
        }

    def end_to_end(self, cluster: Cluster, count: int, clients: int) -> Figures:
        said = self._run(cluster, "e2e", count=count, concurrency=clients, prefix="load")
        if "bound_per_s" not in said:
            raise BenchmarkError(f"{said.get('timeout_bound')} of {count} pods were bound")
        return {
            "pods": count,
            "seconds": said["all_bound_seconds"],
            "pods_per_s": said["bound_per_s"],
            "created_per_s": said["create_per_s"],
            "client_s": said["client_cpu_s"],
        }

    def latency(self, cluster: Cluster, count: int) -> Figures:
        began = time.perf_counter()
        said = self._run(cluster, "latency", count=count)
        return {
            "pods": count,
            "seconds": time.perf_counter() - began,
            "p50_ms": said["bound_p50_ms"],
            "p90_ms": said["bound_p90_ms"],
            "p99_ms": said["bound_p99_ms"],
            "post_p50_ms": said["post_p50_ms"],
            "client_s": said["client_cpu_s"],
        }

    def _run(self, cluster: Cluster, mode: str, **options: object) -> dict[str, Any]:
        address = cluster.address
        command = [str(self._program), "-base-url", f"{address.url}/k8s/{cluster.name}"]
        command += ["-token", address.token, "-mode", mode, "-timeout", f"{LIMIT:.0f}"]
        for name, value in options.items():
            command += [f"-{name}", str(value)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        said: dict[str, Any] = json.loads(ended.stdout) if ended.stdout.strip() else {}
        if ended.returncode != 0 or said.get("errors"):
            raise BenchmarkError(f"{self._program} -mode {mode}: {ended.stderr.strip()[-300:]}")
        return said


class BoundPods:
    """Notes when a watch first shows each pod with a node."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        #: name -> `time.perf_counter`
        self.at: dict[str, float] = {}

    def __contains__(self, name: object) -> bool:
        return name in self.at

    def note(self, event: Event) -> None:
        name = event.object.metadata.name
        if event.object.spec.node_name and name.startswith(self._prefix):
            self.at.setdefault(name, time.perf_counter())


def latency_figures(seconds: Sequence[float]) -> Figures:
    return {f"p{percent}_ms": percentile(seconds, percent) * 1000 for percent in (50, 90, 99)}

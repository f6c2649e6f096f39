"""The measurements: each returns the figures of one run, and raises if it measured too little."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench.house import pods
from bench.house.client import Event
from bench.house.loaders import BoundPods, Loader, latency_figures
from bench.house.site import OwnSite, Site
from bench.results import BenchmarkError, Figures

#: bytes of a pod that is only created
POD_SIZE = 2000
#: pods of one LIST of the memory measurement
LIST_LIMIT = 5000


def create(site: Site, loader: Loader, *, count: int, clients: int) -> Figures:
    """POST of pods to a paused cluster."""
    cluster = site.create_cluster(paused=True)
    with processor_time(site) as worked:
        figures = loader.create(cluster, count, clients, POD_SIZE)
    return finish(figures, count, worked)


def end_to_end(site: Site, loader: Loader, *, nodes: int, count: int, clients: int) -> Figures:
    """First POST to last bound."""
    cluster = site.create_cluster(nodes)
    cluster.warm_up()
    with processor_time(site) as worked:
        figures = loader.end_to_end(cluster, count, clients)
    cluster.pause()
    return finish(figures, count, worked)


def latency(site: Site, loader: Loader, *, nodes: int, count: int) -> Figures:
    """POST to bound, one pod at a time on an idle site."""
    cluster = site.create_cluster(nodes)
    cluster.warm_up()
    with processor_time(site) as worked:
        figures = loader.latency(cluster, count)
    cluster.pause()
    return finish(figures, count, worked)


def backlog(site: Site, *, nodes: int, count: int) -> Figures:
    """Many pods wait in a paused cluster: from resume until all are bound, and all run."""
    cluster = site.create_cluster(nodes, paused=True)
    cluster.import_objects([pods.pod(f"load-{number:06}") for number in range(count)])
    bound, running = BoundPods("load-"), set()

    def note(event: Event) -> None:
        bound.note(event)
        if event.object.status.phase == "Running":
            running.add(event.object.metadata.name)

    with cluster.client() as client:
        client.watch(note)
        with processor_time(site) as worked:
            began, client_worked = time.perf_counter(), time.process_time()
            cluster.resume()
            client.wait_until(lambda: len(running) == count)
            quiet = time.perf_counter() - began
    cluster.pause()
    seconds = max(bound.at.values()) - began
    figures = {
        "pods": len(bound.at),
        "seconds": seconds,
        "pods_per_s": count / seconds,
        "seconds_to_running": quiet,
        "client_s": time.process_time() - client_worked,
    }
    return finish(figures, count, worked)


def list_pods(site: Site, *, count: int, times: int) -> Figures:
    """LIST of bound pods by one client, whole answers."""
    cluster = site.create_cluster(count // 40 + 1, paused=True)
    bodies = [pods.pod(f"load-{number:06}") for number in range(count)]
    for number, body in enumerate(bodies):
        body["spec"]["nodeName"] = f"node-{number // 40:05}"
    cluster.import_objects(bodies)
    with cluster.client() as client, processor_time(site) as worked:
        answers = [client.get(cluster.pods) for _ in range(times)]
    size = len(answers[-1][1])
    figures = {
        "pods": answers[-1][1].count(b'"creationTimestamp":'),
        "mb": size / 1e6,
        **latency_figures([seconds for seconds, _ in answers]),
    }
    return finish(figures, count, worked, per=times)


def watchers(site: Site, *, watchers: int, count: int) -> Figures:
    """POST of one pod at a time: from the request until the last of all watchers has seen it."""
    cluster = site.create_cluster(paused=True)
    #: the watchers' events, by pod
    seen: Counter[str] = Counter()

    def note(event: Event) -> None:
        seen[event.object.metadata.name] += 1

    delays = []
    with cluster.client() as client:
        for _ in range(watchers):
            client.watch(note)
        client.create([pods.encode(pods.pod("first"))], 1)
        client.wait_until(lambda: seen["first"] == watchers)
        with processor_time(site) as worked:
            for number in range(count):
                name = f"load-{number:06}"
                began = time.perf_counter()
                client.create([pods.encode(pods.pod(name))], 1)
                client.wait_until(partial(_is_complete, seen, name, watchers))
                delays.append(time.perf_counter() - began)
    return finish({"pods": len(delays), **latency_figures(delays)}, count, worked)


def _is_complete(seen: Counter[str], name: str, watchers: int) -> bool:
    return seen[name] == watchers


def memory(site: Site, loader: Loader, *, posts: int, lists: int) -> Figures:
    """Memory of each role at rest, after many POSTs, and after LISTs of 5,000 pods of 2 KB."""
    figures = prefix("rest", site.memory())
    cluster = site.create_cluster(paused=True)
    created = loader.create(cluster, posts, 16, POD_SIZE)
    figures |= prefix("posts", site.memory())
    with cluster.client() as client:
        for _ in range(lists):
            client.get(f"{cluster.pods}?limit={LIST_LIMIT}")
    figures |= prefix("lists", site.memory())
    return finish({"pods": created["pods"], **figures}, posts, {})


def openb(site: OwnSite, *, folder: Path) -> Figures:
    """The openb trace as in the README, from the start of its import until the loop is quiet."""
    manage = site.running.manage
    manage("create_cluster", "openb", "--tie-break", "first-name")
    files = ("--nodes", str(folder / "nodes.csv"), "--pods", str(folder / "pods.csv"))
    with processor_time(site) as worked:
        began = time.perf_counter()
        said = manage("load_openb", "openb", *files)
        imported = time.perf_counter() - began
        manage("wait", "openb")
        seconds = time.perf_counter() - began
    site.address.call("POST", "/api/v1/clusters/openb/pause")
    match = re.search(r"and (\d+) pods", said)
    assert match is not None
    count = int(match[1])
    placed = manage("placements", "openb").splitlines()[1:]
    bound = sum(bool(line.split(",")[1]) for line in placed)
    figures = {"pods": len(placed), "bound": bound, "seconds": seconds, "import_s": imported}
    return finish(figures, count, worked)


@contextmanager
def processor_time(site: Site) -> Iterator[dict[str, float]]:
    """Yields a dictionary: role -> processor seconds, once the block has ended."""
    worked: dict[str, float] = {}
    before = site.processor_seconds()
    yield worked
    for role, seconds in site.processor_seconds().items():
        worked[role] = seconds - before.get(role, 0.0)


def finish(figures: Figures, asked: int, worked: dict[str, float], per: int = 0) -> Figures:
    """Check that as many pods were measured as asked; add processor time per pod (or request)."""
    if figures["pods"] != asked:
        raise BenchmarkError(f"{figures['pods']} of {asked} pods were measured")
    shares = {f"{role}_us": seconds / (per or asked) * 1e6 for role, seconds in worked.items()}
    client = {}
    if "client_s" in figures:
        client["client_share"] = figures["client_s"] / figures["seconds"]
    return {**figures, **shares, **client}


def prefix(when: str, figures: Figures) -> dict[str, float]:
    return {f"{when}_{name}": value for name, value in figures.items()}

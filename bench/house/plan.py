"""Which measurements are taken, at which sizes, in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.house import measures
from bench.house.loaders import Loader
from bench.house.site import OwnSite, Site
from bench.results import Figures

Measure = Callable[[], Figures]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    #: numbers of clients that POST at a time
    clients: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    post_pods: int = 3000
    #: numbers of nodes of a cluster
    end_to_end_nodes: tuple[int, ...] = (1000, 5000)
    end_to_end_pods: int = 5000
    latency_nodes: int = 1000
    latency_pods: int = 200
    backlog_nodes: int = 5000
    backlog_pods: int = 10_000
    list_pods: int = 5000
    lists: int = 20
    watchers: int = 50
    watched_pods: int = 200
    memory_posts: int = 30_000
    memory_lists: int = 5


SHORT = Sizes(
    clients=(1, 16),
    post_pods=500,
    end_to_end_nodes=(1000,),
    end_to_end_pods=1000,
    latency_pods=60,
    backlog_nodes=1000,
    backlog_pods=2000,
    list_pods=1000,
    lists=10,
    watched_pods=50,
    memory_posts=2000,
    memory_lists=2,
)
#: clients of a measurement from end to end
CLIENTS = 16


def measurements(
    site: Site, loader: Loader, sizes: Sizes, trace: Path | None
) -> Iterator[tuple[str, Measure]]:
    """The name and the function of each measurement; memory comes first, on a fresh site."""
    if isinstance(site, OwnSite):
        posts, lists = sizes.memory_posts, sizes.memory_lists
        yield "memory", partial(measures.memory, site, loader, posts=posts, lists=lists)
    for clients in sizes.clients:
        count = sizes.post_pods
        yield (
            f"post_{clients}",
            partial(measures.create, site, loader, count=count, clients=clients),
        )
    for nodes in sizes.end_to_end_nodes:
        count = sizes.end_to_end_pods
        yield (
            f"end_to_end_{nodes}",
            partial(measures.end_to_end, site, loader, nodes=nodes, count=count, clients=CLIENTS),
        )
    nodes, count = sizes.latency_nodes, sizes.latency_pods
    yield "latency", partial(measures.latency, site, loader, nodes=nodes, count=count)
    nodes, count = sizes.backlog_nodes, sizes.backlog_pods
    yield "backlog", partial(measures.backlog, site, nodes=nodes, count=count)
    yield "list", partial(measures.list_pods, site, count=sizes.list_pods, times=sizes.lists)
    watchers, count = sizes.watchers, sizes.watched_pods
    yield "watchers", partial(measures.watchers, site, watchers=watchers, count=count)
    if trace is not None and isinstance(site, OwnSite):
        yield "openb", partial(measures.openb, site, folder=trace)

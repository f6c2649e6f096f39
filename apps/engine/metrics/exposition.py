"""The content of `/metrics`, of one cluster or of the site."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from apps.cluster.models import Cluster
from apps.engine.metrics import pod_resources, site, stored
from apps.engine.metrics.families import Families
from apps.engine.metrics.waiting import waiting_pods


@dataclass(frozen=True, slots=True)
class Exposition:
    """Text for Prometheus, in the requested format."""

    text: bytes
    content_type: str


def expose_cluster(cluster: Cluster, accept: str = "") -> Exposition:
    """The metrics of kube-scheduler, and those of kube-state-metrics about overhead."""
    families = Families()
    families.add(stored.load(cluster.pk), waiting_pods([cluster])[cluster.pk])
    return render(accept, families.collect, lambda: pod_resources.overhead([cluster]))


def expose_pods(cluster: Cluster, accept: str = "") -> Exposition:
    """The metrics of kube-scheduler's `/metrics/resources`: requests and limits of each pod."""
    return render(accept, lambda: pod_resources.requests_and_limits(cluster))


def expose_site(accept: str = "", parts: dict[str, str] | None = None) -> Exposition:
    """The metrics of all clusters, with a label `cluster`, and of the site itself.

    `parts`: part of the site -> its problem, "" if it works.
    """
    families = Families(("cluster",))
    every = list(stored.load_all())
    clusters = [cluster for cluster, _ in every]
    waiting = waiting_pods(clusters)
    for cluster, values in every:
        families.add(values, waiting[cluster.pk], (cluster.name,))

    def site_families() -> list[GaugeMetricFamily]:
        return [*pod_resources.overhead(clusters, named=True), *site.families(clusters, parts)]

    return render(accept, families.collect, site_families, process=True)


class _FamilyCollector(Collector):
    def __init__(self, collect: Callable[[], Iterable[Family]]) -> None:
        self._collect = collect

    def collect(self) -> Iterable[Family]:
        return self._collect()


def render(
    accept: str, *sources: Callable[[], Iterable[Family]], process: bool = False
) -> Exposition:
    registry = CollectorRegistry(auto_describe=False)
    for source in sources:
        registry.register(_FamilyCollector(source))
    if process:
        ProcessCollector(registry=registry)
    encoder, content_type = choose_encoder(accept)
    return Exposition(encoder(registry), content_type)

"""The page of charts over time: what can be charted, and the spans to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.urls import reverse

from apps.cluster.errors import BadRequest, NotFound
from apps.cluster.models import Cluster, Namespace, Node
from apps.engine import queries
from apps.engine.series.resolutions import list_resolutions

#: parameter `since` -> label
PRESETS = {
    "15m": "15 min",
    "1h": "1 h",
    "6h": "6 h",
    "24h": "24 h",
    "7d": "7 d",
    "30d": "30 d",
    "1y": "1 y",
}
_LENGTHS = {
    "15m": timedelta(minutes=15),
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
#: Pages about a span: label, route, query, and the parameters that its start and end are.
_OTHERS = (
    ("decisions", "decisions", "", "since", "until"),
    ("queue history", "queue-history", "", "since", "until"),
    ("changes", "changes", "", "since", "until"),
    ("events", "events", "?expired=true", "since", "until"),
    ("what differs from its start to its end", "past", "", "with", "at"),
    ("a film", "film", "", "since", "until"),
)
#: Nodes that can be chosen from the list; the others have a link on their page.
_NODES = 50


@dataclass(frozen=True, slots=True)
class ChartsPage:
    """What the page of charts shows before its script has fetched them."""

    scope: str
    name: str
    #: group -> values of `of` with their labels
    choices: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    since: str
    #: Seconds between two samples.
    interval: int
    #: pages about a span: label, address, and the parameters that its start and end are
    others: Sequence[tuple[str, str, str, str]]

    @property
    def of(self) -> str:
        return f"{self.scope}/{self.name}" if self.name else self.scope


def charts_page(cluster: Cluster, *, of: str, since: str) -> ChartsPage:
    """The page of `of`: "cluster", "namespace/…", "profile/…" or "node/…".

    Raises BadRequest for another scope, NotFound for a name that does not exist.
    """
    scope, _, name = of.partition("/")
    namespaces = list(
        Namespace.objects.filter(cluster=cluster).order_by("name").values_list("name", flat=True)
    )
    profiles = queries.list_scheduler_names(cluster)
    nodes = Node.objects.filter(cluster=cluster).order_by("name").values_list("name", flat=True)
    few = list(nodes[:_NODES])
    if scope == "node" and name not in few:
        if not nodes.filter(name=name).exists():
            raise NotFound("nodes", name)
        few.insert(0, name)
    known = {"cluster": [""], "namespace": namespaces, "profile": profiles, "node": few}
    if scope not in known:
        raise BadRequest(f"of: {of!r} is not cluster, namespace/…, profile/… or node/…")
    if name not in known[scope]:
        raise NotFound(f"{scope}s", name)
    return ChartsPage(
        scope=scope,
        name=name,
        choices=[
            (f"{group.title()}s", [(f"{group}/{each}", each) for each in names])
            for group, names in known.items()
            if group != "cluster" and names
        ],
        since=since or choose_since(cluster),
        interval=list_resolutions()[0].step,
        others=[
            (label, f"{reverse(route, args=[cluster.name])}{query}", start, end)
            for label, route, query, start, end in _OTHERS
        ],
    )


def choose_since(cluster: Cluster) -> str:
    """The span that is shown first: a young cluster has no hour to show, and a fast clock has few
    samples in one.
    """
    if cluster.clock_speed is not None:
        shown = timedelta(minutes=15) * cluster.clock_speed
        return next((since for since, length in _LENGTHS.items() if length >= shown), "1y")
    young = cluster.now() - cluster.created_at < timedelta(minutes=20)
    return "15m" if young else "1h"

"""The page of second opinions, and the summary on the page of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.cluster.models import Cluster
from apps.dashboard.paging import LogPage, log_page
from apps.engine import opinions
from apps.engine.models import SecondOpinion
from apps.engine.opinions import Agreement
from apps.engine.results.comparison import Comparison, Share


@dataclass(frozen=True, slots=True)
class OpinionsPage:
    """How far the external scheduler agrees, and a page of disagreements."""

    agreement: Agreement
    page: LogPage[SecondOpinion]


def opinions_page(cluster: Cluster, query: Mapping[str, Any]) -> OpinionsPage:
    """Disagreements, newest first."""
    page = log_page(opinions.list_disagreements(cluster), query)
    for row in page.rows:
        row.compared = _read_comparison(row.comparison)  # type: ignore[attr-defined]
    return OpinionsPage(opinions.read_agreement(cluster), page)


def agreement_of(cluster: Cluster) -> Agreement | None:
    """The summary for a cluster with an external scheduler; None for any other."""
    if cluster.scheduling != Cluster.Scheduling.EXTERNAL:
        return None
    return opinions.read_agreement(cluster)


def _read_comparison(stored: dict[str, Any] | None) -> Comparison | None:
    if stored is None:
        return None
    shares = tuple(Share(**share) for share in stored["shares"])
    return Comparison(**{**stored, "shares": shares})

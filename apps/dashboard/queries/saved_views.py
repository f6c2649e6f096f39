"""Saved views of decisions, as pages show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from apps.cluster.models import Cluster
from apps.dashboard.queries.decision_groups import GROUP, THEN
from apps.engine.ledger.saved_views import PARAMETERS, list_views
from apps.engine.models import SavedView


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A view, what it selects, and whether the user can change it."""

    view: SavedView
    parameters: Sequence[tuple[str, str]]
    is_own: bool


def view_list(cluster: Cluster, user: str) -> list[ViewRow]:
    """The views that a user sees, by name."""
    return [
        ViewRow(view, sorted(view.query.items()), view.user == user)
        for view in list_views(cluster, user)
    ]


def read_query(query: Mapping[str, Any]) -> dict[str, str]:
    """The part of an address of decisions that a view holds."""
    parameters = {name: str(query[name]) for name in PARAMETERS if query.get(name)}
    if second := query.get(THEN):
        parameters[GROUP] = ",".join(filter(None, (parameters.get(GROUP, ""), str(second))))
    return parameters


def view_address(cluster: Cluster, view: SavedView) -> str:
    """The page of decisions with what the view selects."""
    query = dict(view.query)
    first, _, second = query.pop(GROUP, "").partition(",")
    group = {name: value for name, value in ((GROUP, first), (THEN, second)) if value}
    parameters = urlencode({**group, **query, "view": view.pk})
    return f"{reverse('decisions', args=[cluster.name])}?{parameters}"

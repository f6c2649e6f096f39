"""Saved views of the ledger: a name for filters, grouping and sorting, with a permanent address.

A view belongs to the user who saved it; others see it if it is shared, and only its owner changes
it. Its query has the parameters of lists and aggregations of decisions. A relative time (`1h`,
`today`) is read again each time the view is opened; a date and time has an offset, so that it means
the same to everyone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils.timezone import get_current_timezone

from apps.cluster import limits
from apps.cluster.errors import AlreadyExists, BadRequest, Forbidden, NotFound
from apps.cluster.models import Cluster
from apps.engine.ledger import finding
from apps.engine.ledger.aggregating import parse_sorting
from apps.engine.ledger.grouping import parse_grouping
from apps.engine.models import SavedView
from apps.engine.periods import fix_offset, parse_zone

#: The most views of one user in a cluster.
MAX_NAME: Final = 100
#: The parameters that a view holds.
PARAMETERS: Final = (*(each.name for each in finding.PARAMETERS), "group", "sort")
_MAX_VALUE: Final = 1000


def list_views(cluster: Cluster, user: str) -> QuerySet[SavedView]:
    """The views that a user sees, by name: own ones, and those that others share."""
    visible = SavedView.objects.filter(Q(user=user) | Q(shared=True), cluster=cluster)
    return visible.order_by("name", "id")


def get_view(cluster: Cluster, number: int, user: str) -> SavedView:
    """A view that the user sees; raises NotFound for any other."""
    view = list_views(cluster, user).filter(pk=number).first()
    if view is None:
        raise NotFound("views", str(number))
    return view


def create_view(
    cluster: Cluster, user: str, *, name: str, query: Mapping[str, Any], shared: bool = False
) -> SavedView:
    """Save a view.

    Raises BadRequest that names the wrong field, and AlreadyExists if the user has the name.
    """
    if SavedView.objects.filter(cluster=cluster, user=user).count() >= limits.SAVED_VIEWS.highest:
        raise BadRequest(
            f"you have {limits.SAVED_VIEWS.highest} views of this cluster; delete one first"
        )
    view = SavedView(cluster=cluster, user=user, shared=shared)
    view.name, view.query = check_name(name), check_query(query)
    return _save(view)


def update_view(
    view: SavedView,
    user: str,
    *,
    name: str | None = None,
    query: Mapping[str, Any] | None = None,
    shared: bool | None = None,
) -> SavedView:
    """Change what is not None.

    Raises Forbidden for a view of another user, and the errors of `create_view`.
    """
    _check_owner(view, user)
    view.name = view.name if name is None else check_name(name)
    view.query = view.query if query is None else check_query(query)
    view.shared = view.shared if shared is None else shared
    return _save(view)


def delete_view(view: SavedView, user: str) -> None:
    """Delete a view; raises Forbidden if it is another user's."""
    _check_owner(view, user)
    view.delete()


def check_name(name: str) -> str:
    """The name without surrounding spaces; raises BadRequest if it is empty or too long."""
    name = name.strip()
    if not name or len(name) > MAX_NAME or "\x00" in name:
        raise BadRequest(f"name: must have 1 to {MAX_NAME} characters")
    return name


def check_query(query: Mapping[str, Any]) -> dict[str, str]:
    """The parameters that are not empty.

    Raises BadRequest that names one that is unknown or invalid. Dates and times without an offset
    get that of the parameter `zone`, by default of the current zone of Django: the viewer's on
    pages, UTC in the API.
    """
    given: dict[str, str] = {}
    for name, value in query.items():
        if name not in PARAMETERS:
            known = ", ".join(PARAMETERS)
            raise BadRequest(f"query.{name}: unknown parameter; known parameters are {known}")
        if not isinstance(value, str | int) or len(str(value)) > _MAX_VALUE:
            raise BadRequest(f"query.{name}: must be text of at most {_MAX_VALUE} characters")
        if str(value).strip():
            given[name] = str(value).strip()
    try:
        finding.parse(given)
        zone = parse_zone(given["zone"]) if "zone" in given else get_current_timezone()
        limits = {name: given[name] for name in ("since", "until") if name in given}
        given |= {name: fix_offset(name, text, zone=zone) for name, text in limits.items()}
        parse_sorting(given.get("sort", ""), parse_grouping(given.get("group", "")))
    except BadRequest as error:
        raise BadRequest(f"query.{error.message}") from error
    return given


def _check_owner(view: SavedView, user: str) -> None:
    if view.user != user:
        raise Forbidden(f"the view {view.name!r} belongs to {view.user}, who alone can change it")


def _save(view: SavedView) -> SavedView:
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError as error:
        raise AlreadyExists("views", view.name) from error
    return view

"""The cluster at past moments, and what differs between two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import answer
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.paging import PAGING, Page, PageLinks, page_parameters, read_page
from apps.api.control.recorded import PERIOD
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.queries import cluster_named
from apps.studies.past import listing
from apps.studies.past.overview import PastOverview, read_overview
from apps.studies.past.past_version import (
    PARAMETERS,
    PastVersion,
    parse_past_version,
    parse_version_or_time,
)
from apps.studies.past.snapshot_differences import (
    NodeChange,
    NodeDifference,
    PodChange,
    PodDifference,
    find_node_differences,
    find_pod_differences,
)
from apps.studies.past.snapshots import snapshots
from apps.studies.past.versions import NodeVersion, PodVersion

_ERRORS = {400: ErrorSerializer, 404: ErrorSerializer, 410: ErrorSerializer}
_ZONE = PERIOD[2]
_PAGING = (*PAGING, "format")
_MOMENT = [
    OpenApiParameter("at", str, description="A time: `1h` ago, `2026-11-22T09:00`. Default: now."),
    OpenApiParameter("version", int, description="Instead: a version of the cluster."),
    OpenApiParameter("decision", int, description="Instead: the version that a decision saw."),
    _ZONE,
]
_ENUMS: Mapping[tuple[tuple[str, str], ...], Sequence[str]] = {
    listing.POD_FILTERS: listing.POD_STATES,
    listing.NODE_FILTERS: listing.NODE_STATES,
}


def _describe(filters: tuple[tuple[str, str], ...]) -> list[OpenApiParameter]:
    return [
        OpenApiParameter(
            name, _choice(_ENUMS[filters]) if name == "state" else str, description=text
        )
        for name, text in filters
    ]


def _choice(states: Sequence[str]) -> dict[str, Any]:
    """With names of constants for generated clients, which ignore case: `pending`, `Pending`."""
    names = [f"PHASE_{each.upper()}" if each[0].isupper() else each.upper() for each in states]
    constants = [name.replace("-", "_") for name in names]
    return {"type": "string", "enum": list(states), "x-enum-varnames": constants}


class PastView(ControlView):
    """A cluster at a moment."""

    area = Area.PAST

    @extend_schema(parameters=_MOMENT, responses={200: PastOverview, **_ERRORS})
    def get(self, request: Request, cluster: str) -> Response:
        """Read the figures of a past moment.

        Nodes, pods, requested resources and the queue at a time, at a version of the cluster, or
        at the version that a decision saw; without parameters, at present. `life` has the first
        moment whose state can be read. A state before it is answered with 410.
        """
        reject_unknown(request, {*PARAMETERS, "format"})
        target = cluster_named(cluster)
        return answer(read_overview(target, parse_past_version(target, request.query_params)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PastNodeList(PageLinks):
    moment: PastVersion
    #: nodes that match the filters
    total: int
    nodes: Sequence[NodeVersion]


class PastNodeListView(ControlView):
    """The nodes at a moment."""

    area = Area.PAST

    @extend_schema(
        parameters=[*_MOMENT, *_describe(listing.NODE_FILTERS), *page_parameters()],
        responses={200: PastNodeList, **_ERRORS},
    )
    def get(self, request: Request, cluster: str) -> Response:
        """List the nodes at a past moment.

        By name, with what their pods request. They are the nodes that the Kubernetes API lists
        with `resourceVersion` and `resourceVersionMatch=Exact`.
        """
        reject_unknown(request, {*PARAMETERS, *_names(listing.NODE_FILTERS), *_PAGING})
        target, query = cluster_named(cluster), request.query_params
        moment = parse_past_version(target, query)
        snapshot = snapshots.at(target, moment.version)
        nodes = listing.list_nodes(snapshot, query)
        page = read_page(request)
        found = PastNodeList(
            moment=moment,
            total=len(nodes),
            nodes=listing.add_requests(snapshot, nodes[page.rows]),
            **_link(page, len(nodes), moment),
        )
        return answer(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastPodList(PageLinks):
    moment: PastVersion
    #: pods that match the filters
    total: int
    pods: Sequence[PodVersion]


class PastPodListView(ControlView):
    """The pods at a moment."""

    area = Area.PAST

    @extend_schema(
        parameters=[*_MOMENT, *_describe(listing.POD_FILTERS), *page_parameters()],
        responses={200: PastPodList, **_ERRORS},
    )
    def get(self, request: Request, cluster: str) -> Response:
        """List the pods at a past moment.

        By namespace and name. They are the pods that the Kubernetes API lists with
        `resourceVersion` and `resourceVersionMatch=Exact`.
        """
        reject_unknown(request, {*PARAMETERS, *_names(listing.POD_FILTERS), *_PAGING})
        target, query = cluster_named(cluster), request.query_params
        moment = parse_past_version(target, query)
        pods = listing.list_pods(snapshots.at(target, moment.version), query)
        page = read_page(request)
        found = PastPodList(
            moment=moment,
            total=len(pods),
            pods=pods[page.rows],
            **_link(page, len(pods), moment),
        )
        return answer(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastDifferences(PageLinks):
    #: the moment `from`
    before: PastVersion
    #: the moment `to`
    after: PastVersion
    #: change -> number of pods, before filters
    pod_changes: Mapping[PodChange, int]
    #: change -> number of nodes
    node_changes: Mapping[NodeChange, int]
    #: pods that differ and match the filters
    total: int
    pods: Sequence[PodDifference]
    nodes: Sequence[NodeDifference]


class PastDifferencesView(ControlView):
    """What differs between two moments."""

    area = Area.PAST

    @extend_schema(
        parameters=[
            OpenApiParameter("from", str, required=True, description="A version, or a time."),
            OpenApiParameter("to", str, required=True, description="A version, or a time."),
            _ZONE,
            OpenApiParameter("change", str, enum=listing.POD_CHANGES, description="Of pods."),
            OpenApiParameter("namespace", str, description="Of pods."),
            OpenApiParameter("q", str, description="Part of a pod's name."),
            *page_parameters(),
        ],
        responses={200: PastDifferences, **_ERRORS},
    )
    def get(self, request: Request, cluster: str) -> Response:
        """Compare two moments.

        Pod by pod and node by node: what was created, deleted, bound, moved or changed between
        `from` and `to`. The filters and pages are of pods; all nodes that differ are listed.
        If `from` is the later moment, the answer is what would lead back.
        """
        known = {"from", "to", "zone", "change", "namespace", "q", *_PAGING}
        reject_unknown(request, known)
        target, query = cluster_named(cluster), request.query_params
        before = parse_version_or_time(target, query, "from", starts=True)
        after = parse_version_or_time(target, query, "to")
        first, second = (snapshots.at(target, each.version) for each in (before, after))
        pods, nodes = find_pod_differences(first, second), find_node_differences(first, second)
        selected = listing.select_pod_differences(pods, query)
        page = read_page(request)
        versions = {"from": before.version, "to": after.version}
        found_changes = PastDifferences(
            before=before,
            after=after,
            pod_changes=Counter(each.change for each in pods),
            node_changes=Counter(each.change for each in nodes),
            total=len(selected),
            pods=selected[page.rows],
            nodes=nodes,
            **page.link(len(selected), **versions),
        )
        return answer(found_changes)


def _names(filters: tuple[tuple[str, str], ...]) -> list[str]:
    return [name for name, _ in filters]


def _link(page: Page, total: int, moment: PastVersion) -> dict[str, Any]:
    """The other pages, of the same version: the cluster changes meanwhile."""
    return page.link(total, at=None, decision=None, version=moment.version)

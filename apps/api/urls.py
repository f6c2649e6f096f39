"""The addresses of the api room."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularSwaggerView
from rest_framework.permissions import IsAuthenticated
from rest_framework.routers import DefaultRouter

from apps.api.control.aggregates import (
    ClusterDecisionAggregateView,
    DecisionAggregateView,
    PastDecisionAggregateView,
)
from apps.api.control.base import UnknownAddressView
from apps.api.control.decisions import (
    ClusterDecisionViewSet,
    DecisionViewSet,
    PastDecisionViewSet,
)
from apps.api.control.explanations import DecisionExplanationView, PodExplanationView
from apps.api.control.exporting import (
    ClusterDecisionExportView,
    DecisionExportView,
    PastDecisionExportView,
)
from apps.api.control.history import PastClusterViewSet
from apps.api.control.operations import CopyView, DrainView, ExportView, OperationViewSet
from apps.api.control.profiles import (
    DraftViewSet,
    PreviewListView,
    PreviewView,
    ProfileViewSet,
)
from apps.api.control.queue import QueueActivateView, QueueHistoryView, QueueListView
from apps.api.control.saved_views import SavedViewViewSet
from apps.api.control.schema import SchemaView
from apps.api.control.series import SeriesView
from apps.api.control.views import ClusterViewSet, TokenView
from apps.api.kubernetes.views import KubernetesView

router = DefaultRouter(trailing_slash=False)
# names may hold dots, and `?format=` asks for the same
router.include_format_suffixes = False
router.register("clusters", ClusterViewSet, basename="api-cluster")
router.register("clusters/(?P<cluster>[^/]+)/profiles", ProfileViewSet, basename="api-profile")
router.register("clusters/(?P<cluster>[^/]+)/drafts", DraftViewSet, basename="api-draft")
router.register(
    "clusters/(?P<cluster>[^/]+)/decisions",
    ClusterDecisionViewSet,
    basename="api-cluster-decision",
)
router.register("clusters/(?P<cluster>[^/]+)/views", SavedViewViewSet, basename="api-view")
router.register("history/clusters", PastClusterViewSet, basename="api-past-cluster")
router.register(
    r"history/clusters/(?P<cluster_id>\d{1,18})/decisions",
    PastDecisionViewSet,
    basename="api-past-decision",
)
router.register("decisions", DecisionViewSet, basename="api-decision")
router.register("operations", OperationViewSet, basename="api-operation")

_members = {"permission_classes": [IsAuthenticated]}

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/clusters/<str:cluster>/queue", QueueListView.as_view(), name="api-queue"),
    path(
        "api/v1/clusters/<str:cluster>/queue/history",
        QueueHistoryView.as_view(),
        name="api-queue-history",
    ),
    path(
        "api/v1/clusters/<str:cluster>/queue/activate",
        QueueActivateView.as_view(),
        name="api-queue-activate",
    ),
    path("api/v1/clusters/<str:cluster>/previews", PreviewListView.as_view(), name="api-previews"),
    path(
        "api/v1/clusters/<str:cluster>/previews/<int:number>",
        PreviewView.as_view(),
        name="api-preview",
    ),
    path("api/v1/clusters/<str:cluster>/series", SeriesView.as_view(), name="api-series"),
    path("api/v1/clusters/<str:cluster>/copy", CopyView.as_view(), name="api-copy"),
    path("api/v1/clusters/<str:cluster>/exports", ExportView.as_view(), name="api-export"),
    path(
        "api/v1/clusters/<str:cluster>/nodes/<str:node>/drain",
        DrainView.as_view(),
        name="api-drain",
    ),
    path(
        "api/v1/clusters/<str:cluster>/decisions/<str:number>/explanation",
        DecisionExplanationView.as_view(),
        name="api-decision-explanation",
    ),
    path(
        "api/v1/clusters/<str:cluster>/pods/<str:namespace>/<str:name>/explanation",
        PodExplanationView.as_view(),
        name="api-pod-explanation",
    ),
    path(
        "api/v1/decisions/aggregate",
        DecisionAggregateView.as_view(),
        name="api-aggregate-decisions",
    ),
    path(
        "api/v1/clusters/<str:cluster>/decisions/aggregate",
        ClusterDecisionAggregateView.as_view(),
        name="api-aggregate-cluster-decisions",
    ),
    path(
        "api/v1/history/clusters/<int:cluster_id>/decisions/aggregate",
        PastDecisionAggregateView.as_view(),
        name="api-aggregate-past-decisions",
    ),
    path("api/v1/decisions/export", DecisionExportView.as_view(), name="api-export-decisions"),
    path(
        "api/v1/clusters/<str:cluster>/decisions/export",
        ClusterDecisionExportView.as_view(),
        name="api-export-cluster-decisions",
    ),
    path(
        "api/v1/history/clusters/<int:cluster_id>/decisions/export",
        PastDecisionExportView.as_view(),
        name="api-export-past-decisions",
    ),
    path("api/v1/token", TokenView.as_view(), name="api-token"),
    path("api/v1/", include(router.urls)),
    re_path(r"^api/v1/[\s\S]*\Z", UnknownAddressView.as_view()),
    path("api/schema", SchemaView.as_view(**_members), name="api-schema"),
    path(
        "api/docs",
        SpectacularSwaggerView.as_view(url_name="api-schema", **_members),
        name="api-docs",
    ),
    re_path(
        r"^k8s/(?P<cluster>[^/]+)/(?P<path>[\s\S]*)\Z", KubernetesView.as_view(), name="kubernetes"
    ),
]

"""The addresses of the api room."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path
from rest_framework.routers import DefaultRouter

from apps.api.control.aggregates import (
    ClusterDecisionAggregateView,
    DecisionAggregateView,
)
from apps.api.control.audit import AuditExportView, AuditListView
from apps.api.control.base import UnknownAddressView
from apps.api.control.bundles import BundlesView, DecisionBundleView
from apps.api.control.causes import ChainView, ConsequencesView
from apps.api.control.changes import ChangeExportView, ChangeListView
from apps.api.control.classes import BoardView
from apps.api.control.clock import ClockView
from apps.api.control.comparison import ComparisonView
from apps.api.control.configurations import ConversionView, FeatureGateListView
from apps.api.control.counterfactuals import CounterfactualView, FactsView
from apps.api.control.debugger import DebuggerView
from apps.api.control.decisions import (
    ClusterDecisionViewSet,
    DecisionViewSet,
)
from apps.api.control.events import EventExportView, EventListView
from apps.api.control.explanations import (
    DecisionExplanationView,
    DecisionStateView,
    PodExplanationView,
    ScoreInputsExportView,
    ScoreInputsView,
    VisitingOrderView,
)
from apps.api.control.exporting import ClusterDecisionExportView, DecisionExportView
from apps.api.control.forks import ForkView
from apps.api.control.groups import GroupListView, GroupView
from apps.api.control.history import PastClusterViewSet
from apps.api.control.lab import (
    EmptyingView,
    FailuresView,
    FittingView,
    PlanView,
    ProspectsView,
    SimulationView,
)
from apps.api.control.members import MemberViewSet
from apps.api.control.milestones import MilestoneListView
from apps.api.control.operations import (
    BulkView,
    CopyView,
    DrainView,
    ExportView,
    OperationViewSet,
)
from apps.api.control.opinions import AgreementView, SecondOpinionListView
from apps.api.control.past import (
    PastDifferencesView,
    PastNodeListView,
    PastPodListView,
    PastView,
)
from apps.api.control.pasted import PastedClusterView
from apps.api.control.pod_groups import PodGroupExplanationView
from apps.api.control.profiles import (
    DraftViewSet,
    PreviewListView,
    PreviewView,
    ProfileViewSet,
)
from apps.api.control.queue import (
    PastQueueView,
    QueueActivateView,
    QueueHistoryExportView,
    QueueHistoryView,
    QueueListView,
)
from apps.api.control.recorded_decisions import RecordedDecisionsView
from apps.api.control.replays import ReplayListView, ReplayView
from apps.api.control.saved_views import SavedViewViewSet
from apps.api.control.scenarios import ScenarioListView
from apps.api.control.schema import DocumentationView, SchemaView
from apps.api.control.series import SeriesView
from apps.api.control.shadows import ShadowView
from apps.api.control.tokens import TokenListView, TokenView
from apps.api.control.users import (
    SessionListView,
    SessionView,
    UserListView,
    UserResetView,
    UserSignOutView,
    UserTokenListView,
    UserTokenView,
    UserView,
)
from apps.api.control.views import ClusterViewSet
from apps.api.control.webhooks import WebhookViewSet
from apps.api.gate import RoutePermission
from apps.api.kubernetes.views import KubernetesView

router = DefaultRouter(trailing_slash=False)
# names may hold dots, and `?format=` asks for the same
router.include_format_suffixes = False
router.register("clusters", ClusterViewSet, basename="api-cluster")
router.register("clusters/(?P<cluster>[^/]+)/profiles", ProfileViewSet, basename="api-profile")
router.register("clusters/(?P<cluster>[^/]+)/drafts", DraftViewSet, basename="api-draft")
router.register("clusters/(?P<cluster>[^/]+)/webhooks", WebhookViewSet, basename="api-webhook")
router.register(
    "clusters/(?P<cluster>[^/]+)/decisions",
    ClusterDecisionViewSet,
    basename="api-cluster-decision",
)
router.register("clusters/(?P<cluster>[^/]+)/views", SavedViewViewSet, basename="api-view")
router.register("history/clusters", PastClusterViewSet, basename="api-past-cluster")
router.register(
    r"history/clusters/(?P<cluster_id>\d{1,18})/decisions",
    ClusterDecisionViewSet,
    basename="api-past-decision",
)
router.register("decisions", DecisionViewSet, basename="api-decision")
router.register("operations", OperationViewSet, basename="api-operation")

#: Lists of what is recorded about a cluster; a deleted one has the same below its id.
_recorded: list[URLPattern | URLResolver] = [
    path("/changes", ChangeListView.as_view(), name="api-changes"),
    path("/changes/export", ChangeExportView.as_view(), name="api-export-changes"),
    path("/events", EventListView.as_view(), name="api-events"),
    path("/events/export", EventExportView.as_view(), name="api-export-events"),
    path("/queue/history", QueueHistoryView.as_view(), name="api-queue-history"),
    path(
        "/queue/history/export",
        QueueHistoryExportView.as_view(),
        name="api-export-queue-history",
    ),
    path("/queue/past", PastQueueView.as_view(), name="api-past-queue"),
    path(
        "/decisions/export",
        ClusterDecisionExportView.as_view(),
        name="api-export-cluster-decisions",
    ),
    path(
        "/decisions/aggregate",
        ClusterDecisionAggregateView.as_view(),
        name="api-aggregate-cluster-decisions",
    ),
]

_members = {"permission_classes": [RoutePermission]}

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/clusters/<str:cluster>/queue", QueueListView.as_view(), name="api-queue"),
    path("api/v1/clusters/<str:cluster>", include(_recorded)),
    path("api/v1/history/clusters/<int:cluster_id>", include(_recorded)),
    path("api/v1/clusters/<str:cluster>/clock", ClockView.as_view(), name="api-clock"),
    path(
        "api/v1/clusters/<str:cluster>/queue/activate",
        QueueActivateView.as_view(),
        name="api-queue-activate",
    ),
    path(
        "api/v1/clusters/<str:cluster>/feature-gates",
        FeatureGateListView.as_view(),
        name="api-feature-gates",
    ),
    path(
        "api/v1/clusters/<str:cluster>/configurations/convert",
        ConversionView.as_view(),
        name="api-convert-configuration",
    ),
    path("api/v1/clusters/<str:cluster>/board", BoardView.as_view(), name="api-board"),
    path(
        "api/v1/clusters/<str:cluster>/opinions",
        SecondOpinionListView.as_view(),
        name="api-opinions",
    ),
    path(
        "api/v1/clusters/<str:cluster>/opinions/agreement",
        AgreementView.as_view(),
        name="api-agreement",
    ),
    path("api/v1/clusters/<str:cluster>/shadow", ShadowView.as_view(), name="api-shadow"),
    path("api/v1/clusters/<str:cluster>/previews", PreviewListView.as_view(), name="api-previews"),
    path(
        "api/v1/clusters/<str:cluster>/previews/<int:number>",
        PreviewView.as_view(),
        name="api-preview",
    ),
    path(
        "api/v1/clusters/<str:cluster>/simulate",
        SimulationView.as_view(),
        name="api-simulate",
    ),
    path(
        "api/v1/clusters/<str:cluster>/prospects",
        ProspectsView.as_view(),
        name="api-prospects",
    ),
    path(
        "api/v1/clusters/<str:cluster>/capacity/fit",
        FittingView.as_view(),
        name="api-capacity-fit",
    ),
    path(
        "api/v1/clusters/<str:cluster>/capacity/nodes",
        PlanView.as_view(),
        name="api-capacity-nodes",
    ),
    path(
        "api/v1/clusters/<str:cluster>/capacity/emptiable",
        EmptyingView.as_view(),
        name="api-capacity-emptiable",
    ),
    path(
        "api/v1/clusters/<str:cluster>/capacity/failures",
        FailuresView.as_view(),
        name="api-capacity-failures",
    ),
    path("api/v1/clusters/<str:cluster>/past", PastView.as_view(), name="api-past"),
    path(
        "api/v1/clusters/<str:cluster>/past/nodes",
        PastNodeListView.as_view(),
        name="api-past-nodes",
    ),
    path(
        "api/v1/clusters/<str:cluster>/past/pods",
        PastPodListView.as_view(),
        name="api-past-pods",
    ),
    path(
        "api/v1/clusters/<str:cluster>/past/differences",
        PastDifferencesView.as_view(),
        name="api-past-differences",
    ),
    path(
        "api/v1/clusters/<str:cluster>/stories/<uuid:uid>/chain",
        ChainView.as_view(),
        name="api-chain",
    ),
    path(
        "api/v1/clusters/<str:cluster>/changes/<int:version>/consequences",
        ConsequencesView.as_view(),
        name="api-consequences",
    ),
    path(
        "api/v1/clusters/<str:cluster>/milestones",
        MilestoneListView.as_view(),
        name="api-milestones",
    ),
    path("api/v1/clusters/<str:cluster>/series", SeriesView.as_view(), name="api-series"),
    path("api/v1/clusters/<str:cluster>/fork", ForkView.as_view(), name="api-fork"),
    path("api/v1/clusters/<str:cluster>/replays", ReplayListView.as_view(), name="api-replays"),
    path(
        "api/v1/clusters/<str:cluster>/replays/<int:number>",
        ReplayView.as_view(),
        name="api-replay",
    ),
    path("api/v1/clusters/<str:cluster>/copy", CopyView.as_view(), name="api-copy"),
    path("api/v1/clusters/<str:cluster>/bulk", BulkView.as_view(), name="api-bulk"),
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
        "api/v1/clusters/<str:cluster>/decisions/<str:number>/inputs",
        ScoreInputsView.as_view(),
        name="api-decision-inputs",
    ),
    path(
        "api/v1/clusters/<str:cluster>/decisions/<str:number>/inputs/export",
        ScoreInputsExportView.as_view(),
        name="api-export-decision-inputs",
    ),
    path(
        "api/v1/clusters/<str:cluster>/decisions/<str:number>/order",
        VisitingOrderView.as_view(),
        name="api-decision-order",
    ),
    path(
        "api/v1/clusters/<str:cluster>/decisions/<str:number>/state",
        DecisionStateView.as_view(),
        name="api-decision-state",
    ),
    path(
        "api/v1/clusters/<str:cluster>/decisions/<str:number>/counterfactual",
        CounterfactualView.as_view(),
        name="api-decision-counterfactual",
    ),
    path(
        "api/v1/clusters/<str:cluster>/decisions/<str:number>/facts",
        FactsView.as_view(),
        name="api-decision-facts",
    ),
    path(
        "api/v1/clusters/<str:cluster>/decisions/<str:number>/bundle",
        DecisionBundleView.as_view(),
        name="api-decision-bundle",
    ),
    path("api/v1/clusters/<str:cluster>/debugger", DebuggerView.as_view(), name="api-debugger"),
    path("api/v1/bundles", BundlesView.as_view(), name="api-bundles"),
    path("api/v1/pasted-clusters", PastedClusterView.as_view(), name="api-pasted-clusters"),
    path(
        "api/v1/clusters/<str:cluster>/pod-groups/<str:namespace>/<str:name>/explanation",
        PodGroupExplanationView.as_view(),
        name="api-pod-group-explanation",
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
    path("api/v1/decisions/export", DecisionExportView.as_view(), name="api-export-decisions"),
    path("api/v1/scenarios", ScenarioListView.as_view(), name="api-scenarios"),
    path(
        "api/v1/recorded-decisions",
        RecordedDecisionsView.as_view(),
        name="api-recorded-decisions",
    ),
    path("api/v1/compare-clusters", ComparisonView.as_view(), name="api-compare-clusters"),
    path(
        "api/v1/clusters/<str:cluster>/members",
        MemberViewSet.as_view({"get": "overview", "post": "create", "patch": "access"}),
        name="api-member-list",
    ),
    path(
        "api/v1/clusters/<str:cluster>/members/<int:pk>",
        MemberViewSet.as_view({"patch": "partial_update", "delete": "destroy"}),
        name="api-member-detail",
    ),
    path("api/v1/audit", AuditListView.as_view(), name="api-audit"),
    path("api/v1/audit/export", AuditExportView.as_view(), name="api-export-audit"),
    path("api/v1/groups", GroupListView.as_view(), name="api-groups"),
    path("api/v1/groups/<path:name>", GroupView.as_view(), name="api-group"),
    path("api/v1/users", UserListView.as_view(), name="api-users"),
    path("api/v1/users/<str:name>", UserView.as_view(), name="api-user"),
    path("api/v1/users/<str:name>/reset", UserResetView.as_view(), name="api-reset-user"),
    path("api/v1/users/<str:name>/sign-out", UserSignOutView.as_view(), name="api-sign-out-user"),
    path("api/v1/users/<str:name>/tokens", UserTokenListView.as_view(), name="api-user-tokens"),
    path(
        "api/v1/users/<str:name>/tokens/<int:token_id>",
        UserTokenView.as_view(),
        name="api-user-token",
    ),
    path("api/v1/sessions", SessionListView.as_view(), name="api-sessions"),
    path("api/v1/sessions/<str:session_id>", SessionView.as_view(), name="api-session"),
    path("api/v1/tokens", TokenListView.as_view(), name="api-tokens"),
    path("api/v1/tokens/<int:token_id>", TokenView.as_view(), name="api-token"),
    path("api/v1/", include(router.urls)),
    re_path(r"^api/v1/[\s\S]*\Z", UnknownAddressView.as_view(), name="api-unknown"),
    path("api/schema", SchemaView.as_view(**_members), name="api-schema"),
    path(
        "api/docs",
        DocumentationView.as_view(url_name="api-schema", **_members),
        name="api-docs",
    ),
    re_path(
        r"^k8s/(?P<cluster>[^/]+)/(?P<path>[\s\S]*)\Z", KubernetesView.as_view(), name="kubernetes"
    ),
]

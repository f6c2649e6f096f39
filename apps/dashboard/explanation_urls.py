"""The addresses of explanations, within a cluster's."""

from __future__ import annotations

from django.urls import path

from apps.dashboard.views import explanations

urlpatterns = [
    path(
        "/decisions/<int:number>/explanation",
        explanations.decision_explanation,
        name="decision-explanation",
    ),
    path("/decisions/<int:number>/nodes", explanations.decision_nodes, name="decision-nodes"),
    path("/pods/<str:namespace>/<str:name>/waiting", explanations.pod_waiting, name="pod-waiting"),
]

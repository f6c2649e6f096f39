"""The addresses of the api room."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, re_path

from apps.api.kubernetes.views import KubernetesView

urlpatterns: list[URLPattern | URLResolver] = [
    re_path(r"^k8s/(?P<cluster>[^/]+)/(?P<path>.*)$", KubernetesView.as_view(), name="kubernetes"),
]

"""Services and networking."""

from __future__ import annotations

from typing import Final

from apps.cluster import models
from apps.cluster.kind import PROXY_VERBS, Kind, Subresource

_NETWORKING: Final = "networking.k8s.io"


KINDS: Final = (
    Kind(
        "Service",
        "services",
        models.Service,
        short_names=("svc",),
        categories=("all",),
        fields=("spec.clusterIP", "spec.type"),
        has_status=True,
        subresources=(Subresource("proxy", "ServiceProxyOptions", PROXY_VERBS),),
        returns_deleted=True,
        creates_on_update=True,
    ),
    Kind(
        "Endpoints",
        "endpoints",
        short_names=("ep",),
        creates_on_update=True,
    ),
    Kind(
        "EndpointSlice",
        "endpointslices",
        group="discovery.k8s.io",
        has_generation=True,
    ),
    Kind(
        "Ingress",
        "ingresses",
        group=_NETWORKING,
        short_names=("ing",),
        has_status=True,
        has_generation=True,
    ),
    Kind(
        "IngressClass",
        "ingressclasses",
        group=_NETWORKING,
        namespaced=False,
        has_generation=True,
    ),
    Kind(
        "NetworkPolicy",
        "networkpolicies",
        group=_NETWORKING,
        short_names=("netpol",),
        has_generation=True,
    ),
    Kind(
        "IPAddress",
        "ipaddresses",
        group=_NETWORKING,
        namespaced=False,
        short_names=("ip",),
    ),
    Kind(
        "ServiceCIDR",
        "servicecidrs",
        group=_NETWORKING,
        namespaced=False,
        has_status=True,
    ),
)

"""Services and networking."""

from __future__ import annotations

from typing import Final

from apps.cluster import models
from apps.cluster.admission.defaulting.data import (
    default_empty_status,
    default_endpoint_slice,
    default_endpoints,
    default_ingress,
    default_ingress_class,
    default_network_policy,
)
from apps.cluster.admission.defaulting.services import default_address, default_service, keep_fields
from apps.cluster.kind import CLIENT_METADATA, PROXY_VERBS, Kind, Subresource
from apps.cluster.tables.networking import (
    ENDPOINT_SLICES,
    ENDPOINTS,
    INGRESS_CLASSES,
    INGRESSES,
    IP_ADDRESSES,
    NETWORK_POLICIES,
    SERVICE_CIDRS,
    SERVICES,
)
from apps.cluster.usage import SERVICE_QUOTA
from apps.cluster.validation.addresses import address_name
from apps.cluster.validation.data import (
    immutable,
    validate_ip_address,
    validate_service_cidr,
    validate_service_cidr_update,
)
from apps.cluster.validation.ingresses import (
    validate_class_annotation,
    validate_ingress,
    validate_ingress_class,
)
from apps.cluster.validation.names import dns_label
from apps.cluster.validation.networking import (
    validate_endpoint_slice,
    validate_endpoints,
    validate_network_policy,
)
from apps.cluster.validation.services import validate_service, validate_service_update
from apps.cluster.validation.statuses import validate_ingress_status, validate_service_status
from apps.cluster.warnings.objects import (
    endpoint_slice_warnings,
    ingress_warnings,
    network_policy_warnings,
    service_warnings,
)

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
        default=default_service,
        prepare=default_address,
        initial_status=lambda _: {"loadBalancer": {}},
        keep=keep_fields,
        check_name=dns_label,
        validate=validate_service,
        validate_update=validate_service_update,
        quota=SERVICE_QUOTA,
        columns=SERVICES,
        validate_status=validate_service_status,
        warn=service_warnings,
        warn_update=lambda new, _: service_warnings(new),
    ),
    Kind(
        "Endpoints",
        "endpoints",
        short_names=("ep",),
        deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        creates_on_update=True,
        default=default_endpoints,
        validate=validate_endpoints,
        columns=ENDPOINTS,
    ),
    Kind(
        "EndpointSlice",
        "endpointslices",
        group="discovery.k8s.io",
        has_generation=True,
        default=default_endpoint_slice,
        validate=validate_endpoint_slice,
        validate_update=immutable("addressType"),
        columns=ENDPOINT_SLICES,
        warn=endpoint_slice_warnings,
    ),
    Kind(
        "Ingress",
        "ingresses",
        group=_NETWORKING,
        short_names=("ing",),
        has_status=True,
        has_generation=True,
        default=default_ingress,
        validate=validate_ingress,
        validate_new=validate_class_annotation,
        columns=INGRESSES,
        validate_status=validate_ingress_status,
        initial_status=lambda _: {},
        warn=ingress_warnings,
    ),
    Kind(
        "IngressClass",
        "ingressclasses",
        group=_NETWORKING,
        namespaced=False,
        has_generation=True,
        validate=validate_ingress_class,
        validate_update=immutable("spec.controller"),
        columns=INGRESS_CLASSES,
        default=default_ingress_class,
    ),
    Kind(
        "NetworkPolicy",
        "networkpolicies",
        group=_NETWORKING,
        short_names=("netpol",),
        has_generation=True,
        default=default_network_policy,
        validate=validate_network_policy,
        columns=NETWORK_POLICIES,
        warn=network_policy_warnings,
        warn_update=lambda new, _: network_policy_warnings(new),
    ),
    Kind(
        "IPAddress",
        "ipaddresses",
        group=_NETWORKING,
        namespaced=False,
        short_names=("ip",),
        validate=validate_ip_address,
        validate_update=immutable("spec.parentRef", "networking.ParentReference"),
        columns=IP_ADDRESSES,
        check_name=address_name,
    ),
    Kind(
        "ServiceCIDR",
        "servicecidrs",
        group=_NETWORKING,
        namespaced=False,
        has_status=True,
        status_keeps=CLIENT_METADATA,
        columns=SERVICE_CIDRS,
        validate=validate_service_cidr,
        validate_update=validate_service_cidr_update,
        compares_updates=True,
        default=default_empty_status,
    ),
)

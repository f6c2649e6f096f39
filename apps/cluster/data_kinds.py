"""The kinds that are only data: a row each. Their objects share one table (`models.DataObject`).

Shape, validation of types, discovery, OpenAPI, watch and quotas follow from the row and the
definition in `apps/cluster/schema`. Rules and defaults, where a kind has any, are in
`apps/cluster/validation` and `apps/cluster/admission/defaulting`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypedDict


class Row(TypedDict):
    """The arguments of a `kinds.Kind`, except for its model."""

    name: str
    plural: str
    group: str
    version: str
    namespaced: bool
    short_names: tuple[str, ...]
    has_status: bool
    has_generation: bool
    categories: tuple[str, ...]
    fields: tuple[str, ...]
    returns_deleted: bool
    creates_on_update: bool
    feature_gate: str


def _row(
    name: str,
    plural: str,
    *traits: str,
    short: str = "",
    fields: Sequence[str] = (),
    version: str = "v1",
    gate: str = "",
) -> Row:
    """A kind with its traits: an API group, and any of these words.

    `cluster`: not namespaced; `status`: has the subresource; `generation`: counts changes;
    `all`: in the category; `returned`: a deletion returns the object; `put`: PUT creates it.
    """
    words = {"cluster", "status", "generation", "all", "returned", "put"}
    group = next((trait for trait in traits if trait not in words), "")
    return Row(
        name=name,
        plural=plural,
        group=group,
        version="v2" if group == "autoscaling" else version,
        namespaced="cluster" not in traits,
        short_names=tuple(short.split()),
        has_status="status" in traits,
        has_generation="generation" in traits,
        categories=("all",) if "all" in traits else (),
        fields=tuple(fields),
        returns_deleted="returned" in traits,
        creates_on_update="put" in traits,
        feature_gate=gate,
    )


_ADMISSION: Final = "admissionregistration.k8s.io"
_FLOW: Final = "flowcontrol.apiserver.k8s.io"
_NETWORK: Final = "networking.k8s.io"
_RBAC: Final = "rbac.authorization.k8s.io"
_RESOURCE: Final = "resource.k8s.io"
_SCHEDULING: Final = "scheduling.k8s.io"
_GROUPS: Final = "GenericWorkload"

ROWS: Final[tuple[Row, ...]] = (
    _row("ConfigMap", "configmaps", short="cm"),
    _row("Secret", "secrets", fields=("type",)),
    _row("ServiceAccount", "serviceaccounts", "returned", short="sa"),
    _row("Endpoints", "endpoints", "put", short="ep"),
    _row("LimitRange", "limitranges", "put", short="limits"),
    _row("PodTemplate", "podtemplates", "generation", "returned"),
    _row("ControllerRevision", "controllerrevisions", "apps"),
    _row("CronJob", "cronjobs", "batch", "status", "generation", "all", short="cj"),
    _row(
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "autoscaling",
        "status",
        "all",
        short="hpa",
    ),
    _row("EndpointSlice", "endpointslices", "discovery.k8s.io", "generation"),
    _row("Ingress", "ingresses", _NETWORK, "status", "generation", short="ing"),
    _row("IngressClass", "ingressclasses", _NETWORK, "cluster", "generation"),
    _row("NetworkPolicy", "networkpolicies", _NETWORK, "generation", short="netpol"),
    _row("IPAddress", "ipaddresses", _NETWORK, "cluster", short="ip"),
    _row("ServiceCIDR", "servicecidrs", _NETWORK, "cluster", "status"),
    _row("Role", "roles", _RBAC, "put"),
    _row("RoleBinding", "rolebindings", _RBAC, "put"),
    _row("ClusterRole", "clusterroles", _RBAC, "cluster", "put"),
    _row("ClusterRoleBinding", "clusterrolebindings", _RBAC, "cluster", "put"),
    _row(
        "CertificateSigningRequest",
        "certificatesigningrequests",
        "certificates.k8s.io",
        "cluster",
        "status",
        short="csr",
        fields=("spec.signerName",),
    ),
    _row(
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        _ADMISSION,
        "cluster",
        "generation",
    ),
    _row(
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        _ADMISSION,
        "cluster",
        "generation",
    ),
    _row(
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        _ADMISSION,
        "cluster",
        "status",
        "generation",
    ),
    _row(
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        _ADMISSION,
        "cluster",
        "generation",
    ),
    _row(
        "MutatingAdmissionPolicy", "mutatingadmissionpolicies", _ADMISSION, "cluster", "generation"
    ),
    _row(
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
        _ADMISSION,
        "cluster",
        "generation",
    ),
    _row("APIService", "apiservices", "apiregistration.k8s.io", "cluster", "status"),
    _row("FlowSchema", "flowschemas", _FLOW, "cluster", "status", "generation"),
    _row(
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        _FLOW,
        "cluster",
        "status",
        "generation",
    ),
    _row("ResourceClaim", "resourceclaims", _RESOURCE, "status", "returned"),
    _row("ResourceClaimTemplate", "resourceclaimtemplates", _RESOURCE, "returned"),
    _row(
        "ResourceSlice",
        "resourceslices",
        _RESOURCE,
        "cluster",
        "generation",
        "returned",
        fields=("spec.driver", "spec.nodeName"),
    ),
    _row("Workload", "workloads", _SCHEDULING, "generation", version="v1alpha2", gate=_GROUPS),
    _row(
        "PodGroup",
        "podgroups",
        _SCHEDULING,
        "status",
        "generation",
        version="v1alpha2",
        gate=_GROUPS,
    ),
    _row("DeviceClass", "deviceclasses", _RESOURCE, "cluster", "generation", "returned"),
    _row(
        "VolumeAttributesClass",
        "volumeattributesclasses",
        "storage.k8s.io",
        "cluster",
        "returned",
        short="vac",
    ),
    _row(
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "apiextensions.k8s.io",
        "cluster",
        "status",
        "generation",
        short="crd crds",
    ),
)

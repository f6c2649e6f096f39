"""Accounts and what they may do."""

from __future__ import annotations

from typing import Final

from apps.cluster.kind import STATUS_VERBS, Kind, Subresource

_RBAC: Final = "rbac.authorization.k8s.io"


KINDS: Final = (
    Kind(
        "ServiceAccount",
        "serviceaccounts",
        short_names=("sa",),
        subresources=(
            Subresource("token", "TokenRequest", ("create",), "authentication.k8s.io", "v1"),
        ),
        returns_deleted=True,
    ),
    Kind(
        "Role",
        "roles",
        group=_RBAC,
        creates_on_update=True,
    ),
    Kind(
        "RoleBinding",
        "rolebindings",
        group=_RBAC,
        creates_on_update=True,
    ),
    Kind(
        "ClusterRole",
        "clusterroles",
        group=_RBAC,
        namespaced=False,
        creates_on_update=True,
    ),
    Kind(
        "ClusterRoleBinding",
        "clusterrolebindings",
        group=_RBAC,
        namespaced=False,
        creates_on_update=True,
    ),
    Kind(
        "CertificateSigningRequest",
        "certificatesigningrequests",
        group="certificates.k8s.io",
        namespaced=False,
        short_names=("csr",),
        fields=("spec.signerName",),
        has_status=True,
        subresources=(Subresource("approval", "CertificateSigningRequest", STATUS_VERBS),),
    ),
)

"""Accounts and what they may do."""

from __future__ import annotations

from typing import Final

from apps.cluster.admission.certificates import keep_request
from apps.cluster.admission.defaulting.data import (
    default_binding,
    default_empty_status,
    default_role,
)
from apps.cluster.kind import STATUS_VERBS, Kind, Subresource
from apps.cluster.tables.access import BINDINGS, CERTIFICATE_SIGNING_REQUESTS
from apps.cluster.tables.columns import AGE, NAME
from apps.cluster.validation.certificates import validate_signing_request
from apps.cluster.validation.names import any_name, path_segment
from apps.cluster.validation.roles import (
    validate_role,
    validate_role_binding,
    validate_role_binding_update,
)
from apps.cluster.warnings.objects import service_account_warnings

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
        columns=(NAME, AGE),
        warn=service_account_warnings,
    ),
    Kind(
        "Role",
        "roles",
        group=_RBAC,
        is_looked_up=True,
        creates_on_update=True,
        default=default_role,
        check_name=path_segment,
        validate=validate_role,
    ),
    Kind(
        "RoleBinding",
        "rolebindings",
        group=_RBAC,
        is_looked_up=True,
        creates_on_update=True,
        default=default_binding,
        check_name=path_segment,
        validate=validate_role_binding,
        validate_update=validate_role_binding_update,
        columns=BINDINGS,
    ),
    Kind(
        "ClusterRole",
        "clusterroles",
        group=_RBAC,
        namespaced=False,
        is_looked_up=True,
        creates_on_update=True,
        default=default_role,
        check_name=path_segment,
        validate=validate_role,
    ),
    Kind(
        "ClusterRoleBinding",
        "clusterrolebindings",
        group=_RBAC,
        namespaced=False,
        is_looked_up=True,
        creates_on_update=True,
        default=default_binding,
        check_name=path_segment,
        validate=validate_role_binding,
        validate_update=validate_role_binding_update,
        columns=BINDINGS,
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
        is_unowned=True,
        keep=keep_request,
        validate=validate_signing_request,
        columns=CERTIFICATE_SIGNING_REQUESTS,
        default=default_empty_status,
        check_name=any_name,
    ),
)

"""Claims with access to devices in use are for namespaces that an administrator has labeled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from apps.cluster.admission.draft import Body
from apps.cluster.errors import Cause, Invalid
from apps.cluster.lookups import Lookups

LABEL: Final = "resource.kubernetes.io/admin-access"
_DETAIL: Final = (
    f"Forbidden: admin access to devices requires the `{LABEL}: true` label on the containing "
    "namespace"
)


def check_admin_access(claim: Body, lookups: Lookups) -> None:
    """Invalid if a claim, or a template for claims, may not request adminAccess."""
    spec, path = claim.get("spec") or {}, "spec"
    if claim["kind"] == "ResourceClaimTemplate":
        spec, path = spec.get("spec") or {}, "spec.spec"
    metadata = claim["metadata"]
    causes = [
        Cause("FieldValueForbidden", _DETAIL, f"{path}.{field}") for field in _admin_requests(spec)
    ]
    if not causes:
        return
    namespace = lookups.namespace(metadata.get("namespace", ""))
    labels = ((namespace or {}).get("metadata") or {}).get("labels") or {}
    if labels.get(LABEL) != "true":
        raise Invalid(claim["kind"], metadata.get("name", ""), causes, "resource.k8s.io")


def _admin_requests(spec: Body) -> Iterator[str]:
    for index, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            yield f"devices.requests[{index}].exactly.adminAccess"

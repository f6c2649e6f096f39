"""The table of routes and what each of their methods requires.

`gate` enforces it for every request to a page or to `/api/v1`, and refuses a route that is not
listed. A route is the name of a URL pattern, or `stream:` and the name of a stream's handler.
Within the Kubernetes API, `deciding` maps verbs and resources to roles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from apps.cluster.access.needs import Need

#: What the address of a route names, if not a cluster by the parameter `cluster`.
Subject = Literal["decision", "operation"]

_NOTHING = Need.NOTHING
_USER = Need.USER
_CREATOR = Need.CREATOR
_VIEWER = Need.VIEWER
_COPIER = Need.COPIER
_OPERATOR = Need.OPERATOR
_ADMIN = Need.ADMIN
_SITE = Need.SITE_ADMIN
_KUBERNETES = Need.KUBERNETES

ROUTES: Final[Mapping[str, Mapping[str, Need]]] = {
    # --- the site
    "healthz": {"GET": _NOTHING},
    "livez": {"GET": _NOTHING},
    "readyz": {"GET": _NOTHING},
    # all clusters of the site are in it
    "metrics": {"GET": _SITE},
    # --- accounts
    "login": {"GET": _NOTHING, "POST": _NOTHING},
    "logout": {"POST": _USER},
    "account": {"GET": _USER, "POST": _USER},
    "set-theme": {"POST": _USER},
    "change-token": {"POST": _USER},
    "password": {"GET": _USER, "POST": _USER},
    # --- pages about the site, and about several clusters
    "clusters": {"GET": _USER},
    "help": {"GET": _USER},
    "search": {"GET": _USER},
    "plugins": {"GET": _USER},
    "plugin": {"GET": _USER},
    "documents": {"GET": _USER},
    "document": {"GET": _USER},
    "document-file": {"GET": _USER},
    "compare-clusters": {"GET": _USER},
    "new-cluster": {"GET": _CREATOR, "POST": _CREATOR},
    "deleted-clusters": {"GET": _USER},
    "forget-cluster": {"GET": _ADMIN, "POST": _ADMIN},
    "operations": {"GET": _USER},
    "operation": {"GET": _VIEWER},
    "operation-output": {"GET": _VIEWER},
    "cancel-operation": {"POST": _OPERATOR},
    "undo-operation": {"POST": _OPERATOR},
    # --- pages of a cluster: reading
    "cluster": {"GET": _VIEWER},
    "heat": {"GET": _VIEWER},
    "charts": {"GET": _VIEWER},
    "kubeconfig": {"GET": _VIEWER},
    "queue": {"GET": _VIEWER},
    "queue-history": {"GET": _VIEWER},
    "nodes": {"GET": _VIEWER},
    "node": {"GET": _VIEWER},
    "pods": {"GET": _VIEWER},
    "pod": {"GET": _VIEWER},
    "pod-story": {"GET": _VIEWER},
    "pod-waiting": {"GET": _VIEWER},
    "decisions": {"GET": _VIEWER},
    "complete-filter": {"GET": _VIEWER},
    "decision": {"GET": _VIEWER},
    "decision-explanation": {"GET": _VIEWER},
    "decision-inputs": {"GET": _VIEWER},
    "decision-order": {"GET": _VIEWER},
    "decision-nodes": {"GET": _VIEWER},
    "decision-scores": {"GET": _VIEWER},
    "decision-state": {"GET": _VIEWER},
    "decision-plugin": {"GET": _VIEWER},
    "refused-nodes": {"GET": _VIEWER},
    "opinions": {"GET": _VIEWER},
    "events": {"GET": _VIEWER},
    "changes": {"GET": _VIEWER},
    "change": {"GET": _VIEWER},
    "profiles": {"GET": _VIEWER},
    "profile": {"GET": _VIEWER},
    "feature-gates": {"GET": _VIEWER},
    "compare-profiles": {"GET": _VIEWER},
    "preview": {"GET": _VIEWER},
    "kinds": {"GET": _VIEWER},
    "objects": {"GET": _VIEWER},
    "object": {"GET": _VIEWER},
    "namespaced-object": {"GET": _VIEWER},
    "export": {"POST": _VIEWER},
    # views are the user's own
    "saved-views": {"GET": _VIEWER},
    "new-view": {"GET": _VIEWER, "POST": _VIEWER},
    "saved-view": {"GET": _VIEWER},
    "edit-view": {"GET": _VIEWER, "POST": _VIEWER},
    "delete-view": {"POST": _VIEWER},
    # --- pages of a cluster: objects, pods, nodes, scheduling
    "clock": {"POST": _OPERATOR},
    "pause": {"POST": _OPERATOR},
    "resume": {"POST": _OPERATOR},
    "activate-pod": {"POST": _OPERATOR},
    "new-node": {"GET": _OPERATOR, "POST": _OPERATOR},
    "change-nodes": {"POST": _OPERATOR},
    "undo-nodes": {"POST": _OPERATOR},
    "set-condition": {"POST": _OPERATOR},
    "set-usage": {"POST": _OPERATOR},
    "drain": {"GET": _OPERATOR, "POST": _OPERATOR},
    "landings": {"GET": _OPERATOR},
    "new-pod": {"GET": _OPERATOR, "POST": _OPERATOR},
    "change-pods": {"POST": _OPERATOR},
    "import": {"GET": _OPERATOR, "POST": _OPERATOR},
    "new-object": {"GET": _OPERATOR, "POST": _OPERATOR},
    "edit-object": {"GET": _OPERATOR, "POST": _OPERATOR},
    "edit-namespaced-object": {"GET": _OPERATOR, "POST": _OPERATOR},
    "delete-object": {"GET": _OPERATOR, "POST": _OPERATOR},
    "delete-namespaced-object": {"GET": _OPERATOR, "POST": _OPERATOR},
    # --- pages of a cluster: profiles, settings, members, deletion
    "switch": {"POST": _ADMIN},
    "delete-cluster": {"GET": _ADMIN, "POST": _ADMIN},
    "cluster-settings": {"GET": _ADMIN, "POST": _ADMIN},
    "members": {"GET": _VIEWER, "POST": _ADMIN},
    "change-member": {"POST": _ADMIN},
    "set-visibility": {"POST": _ADMIN},
    # addresses of webhooks often contain secrets
    "webhooks": {"GET": _ADMIN, "POST": _ADMIN},
    "webhook": {"GET": _ADMIN, "POST": _ADMIN},
    "change-webhook": {"POST": _ADMIN},
    "new-profile": {"GET": _ADMIN, "POST": _ADMIN},
    "edit-profile": {"POST": _ADMIN},
    "start-preview": {"POST": _ADMIN},
    "delete-draft": {"POST": _ADMIN},
    "rename-profile": {"POST": _ADMIN},
    "activate-profile": {"GET": _ADMIN, "POST": _ADMIN},
    # --- /api/v1: the site, and several clusters
    "api-root": {"GET": _USER},
    "api-schema": {"GET": _USER},
    "api-docs": {"GET": _USER},
    "api-token": {"GET": _USER, "POST": _USER, "DELETE": _USER},
    "api-cluster-list": {"GET": _USER, "POST": _CREATOR},
    "api-compare-clusters": {"GET": _USER},
    "api-decision-list": {"GET": _USER},
    "api-decision-detail": {"GET": _VIEWER},
    "api-decision-node": {"GET": _VIEWER},
    "api-aggregate-decisions": {"GET": _USER},
    "api-export-decisions": {"GET": _USER},
    "api-operation-list": {"GET": _USER},
    "api-operation-detail": {"GET": _VIEWER},
    "api-operation-output": {"GET": _VIEWER},
    "api-operation-cancel": {"POST": _OPERATOR},
    "api-past-cluster-list": {"GET": _USER},
    "api-past-cluster-detail": {"GET": _VIEWER, "DELETE": _ADMIN},
    "api-past-decision-list": {"GET": _VIEWER},
    # --- /api/v1: a cluster
    "api-cluster-detail": {"GET": _VIEWER, "PATCH": _ADMIN, "DELETE": _ADMIN},
    "api-cluster-export": {"GET": _VIEWER},
    "api-cluster-import-objects": {"POST": _OPERATOR},
    "api-cluster-pause": {"POST": _OPERATOR},
    "api-cluster-resume": {"POST": _OPERATOR},
    "api-member-list": {"GET": _VIEWER, "POST": _ADMIN, "PATCH": _ADMIN},
    "api-member-detail": {"PATCH": _ADMIN, "DELETE": _ADMIN},
    "api-queue": {"GET": _VIEWER},
    "api-queue-history": {"GET": _VIEWER},
    "api-export-queue-history": {"GET": _VIEWER},
    "api-past-queue": {"GET": _VIEWER},
    "api-queue-activate": {"POST": _OPERATOR},
    "api-changes": {"GET": _VIEWER},
    "api-export-changes": {"GET": _VIEWER},
    "api-events": {"GET": _VIEWER},
    "api-export-events": {"GET": _VIEWER},
    "api-cluster-decision-list": {"GET": _VIEWER},
    "api-export-cluster-decisions": {"GET": _VIEWER},
    "api-aggregate-cluster-decisions": {"GET": _VIEWER},
    "api-decision-explanation": {"GET": _VIEWER},
    "api-decision-inputs": {"GET": _VIEWER},
    "api-export-decision-inputs": {"GET": _VIEWER},
    "api-decision-order": {"GET": _VIEWER},
    "api-decision-state": {"GET": _VIEWER},
    "api-pod-explanation": {"GET": _VIEWER},
    "api-pod-group-explanation": {"GET": _VIEWER},
    "api-feature-gates": {"GET": _VIEWER},
    "api-opinions": {"GET": _VIEWER},
    "api-agreement": {"GET": _VIEWER},
    "api-series": {"GET": _VIEWER},
    "api-convert-configuration": {"POST": _VIEWER},
    "api-previews": {"POST": _ADMIN},
    "api-preview": {"GET": _VIEWER},
    "api-copy": {"POST": _COPIER},
    "api-bulk": {"POST": _OPERATOR},
    "api-export": {"POST": _VIEWER},
    "api-drain": {"POST": _OPERATOR},
    "api-profile-list": {"GET": _VIEWER, "POST": _ADMIN},
    "api-profile-check": {"POST": _VIEWER},
    "api-profile-detail": {"GET": _VIEWER, "PATCH": _ADMIN},
    "api-profile-activate": {"POST": _ADMIN},
    "api-profile-diff": {"GET": _VIEWER},
    "api-draft-list": {"GET": _VIEWER},
    "api-draft-detail": {"GET": _VIEWER, "PUT": _ADMIN, "DELETE": _ADMIN},
    "api-webhook-list": {"GET": _ADMIN, "POST": _ADMIN},
    "api-webhook-detail": {"GET": _ADMIN, "PATCH": _ADMIN, "DELETE": _ADMIN},
    "api-webhook-deliveries": {"GET": _ADMIN},
    "api-webhook-test": {"POST": _ADMIN},
    "api-view-list": {"GET": _VIEWER, "POST": _VIEWER},
    "api-view-detail": {"GET": _VIEWER, "PATCH": _VIEWER, "DELETE": _VIEWER},
    "api-unknown": dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), _USER),
    # --- the API of Kubernetes
    "kubernetes": dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), _KUBERNETES),
    # --- streams of the web front
    "stream:apps.api.streams.watch": {"GET": _KUBERNETES},
    "stream:apps.dashboard.streams.live": {"GET": _VIEWER},
    "stream:apps.dashboard.streams.site": {"GET": _USER},
}

#: Routes about one decision or operation; the others name a cluster, or nothing.
SUBJECTS: Final[Mapping[str, Subject]] = {
    "api-decision-detail": "decision",
    "api-decision-node": "decision",
    **dict.fromkeys(
        (
            *("operation", "operation-output", "cancel-operation", "undo-operation"),
            *("api-operation-detail", "api-operation-output", "api-operation-cancel"),
        ),
        "operation",
    ),
}

#: Requests by POST that change nothing: a token that only reads may send them.
READING_POSTS: Final = frozenset({"api-convert-configuration", "api-profile-check", "logout"})

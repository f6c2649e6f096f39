"""What the account page shows."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from apps.dashboard.queries.clusters import cluster_names
from apps.people.identities import list_identities
from apps.people.sessions import list_sessions
from apps.people.tokens import list_tokens


def account_parts(user: User) -> dict[str, Any]:
    """The user's tokens, sessions and identities, and the clusters with a kubeconfig."""
    return {
        "tokens": list_tokens(user),
        "sessions": list_sessions(user),
        "identities": list_identities(user),
        "now": timezone.now(),
        "names": cluster_names(user),
    }

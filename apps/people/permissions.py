"""Who may manage users, tokens and sessions."""

from __future__ import annotations

from django.contrib.auth.models import User

from apps.cluster.access.scopes import token_scope_of
from apps.cluster.errors import Forbidden


def is_site_admin(user: User) -> bool:
    """Whether the request's user administers the site; limited tokens of a site admin do not."""
    return user.is_superuser and token_scope_of(user) is None


def require_site_admin(user: User) -> None:
    """Raise Forbidden unless the user administers the site."""
    require_unlimited(user)
    if not user.is_superuser:
        raise Forbidden("only site admins may do this")


def require_unlimited(user: User) -> None:
    """Raise Forbidden for a token with limits: it could otherwise get itself one without."""
    if token_scope_of(user) is not None:
        raise Forbidden(
            "a token that is limited to clusters or to reading may not do this; "
            "use the web UI, or a token without limits"
        )

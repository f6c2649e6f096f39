"""What a token may do at most, whatever the roles of its user are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenScope:
    """The limits of one access token; its user's roles apply within them.

    An authenticated user has one as its attribute ``token_scope``, or None: sessions, and tokens
    without limits.
    """

    #: Names of the clusters that the token reaches; None for all.
    clusters: frozenset[str] | None = None
    #: Whether the token only reads.
    read_only: bool = False


def is_limited(user: object) -> bool:
    """Whether this user was authenticated with a token that reaches only some clusters."""
    scope = token_scope_of(user)
    return scope is not None and scope.clusters is not None


def token_scope_of(user: object) -> TokenScope | None:
    """The limits of the token with which this user was authenticated; None without limits."""
    scope = getattr(user, "token_scope", None)
    return scope if isinstance(scope, TokenScope) else None

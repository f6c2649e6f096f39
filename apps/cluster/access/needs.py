"""What a request requires of its user: a role in the cluster that it is about, or less, or more."""

from __future__ import annotations

from enum import Enum

from apps.cluster.roles import Role


class Need(Enum):
    """What one method of a route requires."""

    #: Nothing: also requests without a user.
    NOTHING = "nothing"
    #: Any user; the answer has only what the user may see.
    USER = "user"
    #: As USER, about the account: its tokens and sessions.
    ACCOUNT = "account"
    #: A user who may create clusters.
    CREATOR = "creator"
    VIEWER = "viewer"
    #: A viewer of the cluster who may create clusters: for copies.
    COPIER = "copier"
    OPERATOR = "operator"
    ADMIN = "admin"
    SITE_ADMIN = "site admin"
    #: Depends on the verb and the resource: `deciding` has the rules.
    KUBERNETES = "kubernetes"

    @property
    def role(self) -> Role | None:
        """The role in the cluster that is required; None where none is."""
        return _ROLES.get(self)


_ROLES = {
    Need.VIEWER: Role.VIEWER,
    Need.COPIER: Role.VIEWER,
    Need.OPERATOR: Role.OPERATOR,
    Need.ADMIN: Role.ADMIN,
}

"""The roles of users in a cluster, and who may see it."""

from __future__ import annotations

from typing import Final

from django.db import models


class Role(models.IntegerChoices):
    """What a user may do in a cluster; each role includes the ones before it."""

    #: Read everything of the cluster but Secrets.
    VIEWER = 1, "viewer"
    #: Create, change and delete objects; act on pods, nodes and the queue.
    OPERATOR = 2, "operator"
    #: Change profiles, settings and members; delete the cluster.
    ADMIN = 3, "admin"
    #: Do everything on the site.
    SITE_ADMIN = 4, "site admin"


#: The roles that a member can have.
MEMBER_ROLES: Final = (Role.VIEWER, Role.OPERATOR, Role.ADMIN)

#: What each role is for, for pages.
MEANINGS: Final = {
    Role.VIEWER: "reads everything of the cluster but Secrets, and changes nothing",
    Role.OPERATOR: "also reads Secrets, changes objects, and acts on pods, nodes and queues",
    Role.ADMIN: "also changes profiles, settings, webhooks and members, and deletes the cluster",
    Role.SITE_ADMIN: "administers every cluster and all users",
}


class Visibility(models.TextChoices):
    """Who sees a cluster. Site admins see every cluster."""

    PRIVATE = "private", "Private: only its owner"
    MEMBERS = "members", "Shared: its owner and its members"
    EVERYONE = "everyone", "Visible to all: every user of the site is a viewer"


def role_named(name: str) -> Role | None:
    """The role of a member with this name; None if there is none."""
    return next((role for role in MEMBER_ROLES if role.label == name), None)

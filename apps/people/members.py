"""The owner, the members and the visibility of a cluster."""

from __future__ import annotations

from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from apps.cluster.access.grants import forget
from apps.cluster.errors import AlreadyExists, BadRequest, NotFound
from apps.cluster.models import Cluster, ClusterAccess, Membership
from apps.cluster.roles import MEMBER_ROLES, Role, Visibility
from apps.people.audit.recording import record
from apps.people.models import AuditEntry


def create_access(cluster: Cluster, *, owner: str, visibility: Visibility) -> ClusterAccess:
    """Who may see a new cluster; `owner` may be the name of something that is not a user."""
    # a cluster that was deleted may have had the name
    forget()
    return ClusterAccess.objects.create(
        cluster=cluster,
        name=cluster.name,
        owner=User.objects.filter(username=owner, is_active=True).first(),
        visibility=visibility,
    )


def get_access(cluster: Cluster) -> ClusterAccess:
    """The owner and the visibility of a cluster. Raises NotFound if it has been deleted."""
    access = ClusterAccess.objects.select_related("owner").filter(pk=cluster.pk).first()
    if access is None:
        raise NotFound("clusters", cluster.name)
    return access


def list_members(cluster: Cluster) -> QuerySet[Membership]:
    """The members of a cluster, the highest role first; the owner is not among them."""
    members = Membership.objects.filter(cluster=cluster).select_related("user", "group")
    return members.order_by("-role", "user__username", "group__name")


def add_member(
    cluster: Cluster, *, user: str = "", group: str = "", role: Role, actor: str
) -> Membership:
    """Give a user or a group a role.

    Raises BadRequest unless exactly one of both is given, NotFound for an unknown name, and
    AlreadyExists for a member.
    """
    if bool(user) == bool(group):
        raise BadRequest("user: give the name of either a user or a group")
    member = Membership(cluster=cluster, role=_check_role(role), added_by=actor)
    if user:
        member.user = get_user(user)
    else:
        member.group = get_group(group)
    try:
        with transaction.atomic():
            member.save()
    except IntegrityError as error:
        raise AlreadyExists("members", user or group) from error
    _record(cluster, actor, f"{user or group} is now {role.label}")
    return member


def get_user(name: str) -> User:
    """The active user with this name. Raises NotFound."""
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        raise NotFound("users", name)
    return user


def get_group(name: str) -> Group:
    """The group of users with this name. Raises NotFound."""
    group = Group.objects.filter(name=name).first()
    if group is None:
        raise NotFound("groups", name)
    return group


def get_member(cluster: Cluster, number: int) -> Membership:
    """A member by its id. Raises NotFound."""
    rows = Membership.objects.filter(cluster=cluster).select_related("user", "group")
    member = rows.filter(pk=number).first()
    if member is None:
        raise NotFound("members", str(number))
    return member


def change_role(cluster: Cluster, number: int, *, role: Role, actor: str) -> Membership:
    """Give a member another role. Raises NotFound."""
    member = get_member(cluster, number)
    member.role, member.added_by = _check_role(role), actor
    member.save(update_fields=["role", "added_by"])
    _record(cluster, actor, f"{name_of(member)} is now {role.label}")
    return member


def remove_member(cluster: Cluster, number: int, *, actor: str) -> str:
    """Remove a member, and return its name. Raises NotFound."""
    member = get_member(cluster, number)
    member.delete()
    _record(cluster, actor, f"{name_of(member)} is no longer a member")
    return name_of(member)


def set_visibility(cluster: Cluster, visibility: str, *, actor: str) -> ClusterAccess:
    """Change who sees a cluster. Raises BadRequest for an unknown value, NotFound."""
    if visibility not in Visibility.values:
        raise BadRequest(f"visibility: {visibility!r} is not one of {', '.join(Visibility.values)}")
    access = get_access(cluster)
    access.visibility = Visibility(visibility)
    access.save(update_fields=["visibility"])
    _record(cluster, actor, f"the visibility is now {visibility}")
    return access


def set_owner(cluster: Cluster, owner: str, *, actor: str) -> ClusterAccess:
    """Give a cluster to another user. Raises NotFound for an unknown one."""
    access = get_access(cluster)
    access.owner = get_user(owner)
    access.save(update_fields=["owner"])
    _record(cluster, actor, f"the owner is now {owner}")
    return access


def name_of(member: Membership) -> str:
    """The name of the user or of the group."""
    return member.user.username if member.user else str(member.group)


def _check_role(role: Role) -> Role:
    if role not in MEMBER_ROLES:
        raise BadRequest(f"role: a member cannot be {role.label}")
    return role


def _record(cluster: Cluster, actor: str, change: str) -> None:
    """Record a change of access, which counts at once in this process."""
    forget()
    record(
        AuditEntry.Action.ROLE_CHANGED, user=actor, cluster=cluster.name, details={"change": change}
    )

"""Groups of users, which are members of clusters as users are."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from apps.cluster.access.grants import forget
from apps.cluster.errors import AlreadyExists, Cause, Invalid, NotFound
from apps.people.audit.recording import record
from apps.people.models import AuditEntry


def list_groups() -> QuerySet[Group]:
    """All groups by name, with their users."""
    return Group.objects.order_by("name").prefetch_related("user_set")


def group_named(name: str) -> Group:
    """The group with this name. Raises NotFound."""
    group = list_groups().filter(name=name).first() if "\x00" not in name else None
    if group is None:
        raise NotFound("groups", name)
    return group


def group_numbered(number: int) -> Group:
    """The group with this number, which addresses of pages have: any text may be a name.

    Raises NotFound.
    """
    group = list_groups().filter(pk=number).first()
    if group is None:
        raise NotFound("groups", str(number))
    return group


def users_of(group: Group) -> list[str]:
    """The names of the users in a group, sorted."""
    return sorted(user.username for user in group.user_set.all())


def create_group(name: str, users: Collection[str] = ()) -> Group:
    """Create a group of the users with these names.

    Raises Invalid for a name that is not possible or an unknown user, AlreadyExists for a name that
    is taken; nothing is created then.
    """
    group = Group(name=name)
    try:
        Group._meta.get_field("name").clean(name, group)
        _check_is_addressable(name)
    except ValidationError as error:
        raise _invalid(name, "name", " ".join(error.messages)) from error
    try:
        with transaction.atomic():
            group.save(force_insert=True)
            group.user_set.set(_find_users(name, users))
            _record(name, {"created": True, "added": sorted(users)})
    except IntegrityError as error:
        raise AlreadyExists("groups", name) from error
    return group


def set_users(group: Group, users: Collection[str]) -> None:
    """Replace the users of a group. Raises Invalid for an unknown name; nothing changes then."""
    with transaction.atomic():
        before = set(users_of(group))
        group.user_set.set(_find_users(group.name, users))
        added, removed = sorted(set(users) - before), sorted(before - set(users))
        if added or removed:
            _record(group.name, {"added": added, "removed": removed})


def add_to_groups(user: User, groups: Collection[Group]) -> None:
    """Add a user to further groups."""
    user.groups.add(*groups)
    for group in groups:
        _record(group.name, {"added": [user.username]})


def remove_from_groups(user: User, groups: Collection[Group]) -> None:
    """Remove a user from groups."""
    user.groups.remove(*groups)
    for group in groups:
        _record(group.name, {"removed": [user.username]})


def delete_group(group: Group) -> None:
    """Delete a group; its users have no longer the roles that it gave them."""
    with transaction.atomic():
        _record(group.name, {"deleted": True, "removed": users_of(group)})
        group.delete()


def _check_is_addressable(name: str) -> None:
    """Raise ValidationError for a name that no address can contain."""
    if not name.isprintable():
        raise ValidationError("A name cannot contain line breaks and other control characters.")
    if {".", ".."} & set(name.split("/")):
        raise ValidationError("'.' and '..' are no parts of a name.")


def _find_users(group: str, names: Collection[str]) -> list[User]:
    users = {user.username: user for user in User.objects.filter(username__in=set(names))}
    causes = [
        Cause("FieldValueNotFound", f"there is no user {name!r}", "users")
        for name in sorted(set(names) - users.keys())
    ]
    if causes:
        raise Invalid("groups", group, causes)
    return list(users.values())


def _record(name: str, change: dict[str, object]) -> None:
    """Record a change of a group, which counts at once in this process."""
    forget()
    record(AuditEntry.Action.GROUP_CHANGED, target=name, details=change)


def _invalid(name: str, field: str, message: str) -> Invalid:
    return Invalid("groups", name, [Cause("FieldValueInvalid", message, field)])

"""Users: found by name."""

from __future__ import annotations

from django.contrib.auth.models import User

from apps.cluster.errors import NotFound


def user_names() -> list[str]:
    """The names of all users, sorted."""
    return list(User.objects.order_by("username").values_list("username", flat=True))


def user_named(name: str) -> User:
    """The user with this name. Raises NotFound."""
    user = User.objects.filter(username=name).first() if "\x00" not in name else None
    if user is None:
        raise NotFound("users", name)
    return user

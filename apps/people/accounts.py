"""Users: found, created, invited, deactivated, reset. The last active site admin stays one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode

from apps.cluster.errors import AlreadyExists, Cause, Conflict, Invalid, NotFound
from apps.people import sessions
from apps.people.audit.recording import record
from apps.people.models import AuditEntry

Action = AuditEntry.Action


@dataclass(frozen=True, slots=True)
class PasswordLink:
    """A link with which a user sets a password, once."""

    user: User
    #: The address below that of the site.
    path: str
    expires_at: datetime


def user_names() -> list[str]:
    """The names of all users, sorted."""
    return list(User.objects.order_by("username").values_list("username", flat=True))


def is_site_new() -> bool:
    """Whether nobody has signed in yet."""
    return not User.objects.filter(last_login__isnull=False).exists()


def list_users() -> list[User]:
    """All users by name, inactive ones as well."""
    return list(User.objects.order_by("username"))


def user_named(name: str) -> User:
    """The user with this name. Raises NotFound."""
    user = User.objects.filter(username=name).first() if "\x00" not in name else None
    if user is None:
        raise NotFound("users", name)
    return user


def create_user(name: str, password: str, *, email: str = "", site_admin: bool = False) -> User:
    """Create a user who has a password already. Raises Invalid, or AlreadyExists."""
    user = _new_user(name, email, site_admin)
    check_password(password, user)
    user.set_password(password)
    return _save_new(user, Action.USER_CREATED)


def add_user(name: str, *, email: str = "") -> User:
    """Create a user without a password, who signs in elsewhere. Raises as `invite_user` does."""
    user = _new_user(name, email, False)
    user.set_unusable_password()
    return _save_new(user, Action.USER_CREATED)


def invite_user(name: str, *, email: str = "", site_admin: bool = False) -> PasswordLink:
    """Create a user who sets a password by the link. Raises Invalid, or AlreadyExists."""
    user = _new_user(name, email, site_admin)
    user.set_unusable_password()
    return _link_of(_save_new(user, Action.USER_INVITED))


def reset_user(user: User) -> PasswordLink:
    """A link with which the user sets a new password; the present one is valid until then.

    For a user who was invited and has none yet, earlier links become invalid.
    """
    with transaction.atomic():
        if not user.has_usable_password():
            user.set_unusable_password()
            user.save(update_fields=["password"])
        record(Action.USER_RESET, target=user.get_username())
    return _link_of(user)


def invited_user(number: str, token: str) -> User | None:
    """The active user whose link has these parts, if it is valid and they have no password yet."""
    try:
        user = User.objects.filter(pk=urlsafe_base64_decode(number).decode()).first()
    except (ValueError, OverflowError, ValidationError):
        return None
    if user is None or not user.is_active or user.has_usable_password():
        return None
    return user if default_token_generator.check_token(user, token) else None


def change_user(user: User, *, active: bool | None = None, site_admin: bool | None = None) -> None:
    """Apply `set_active` and `set_site_admin` where they change something; all or nothing."""
    with transaction.atomic():
        if active is not None and active != user.is_active:
            set_active(user, active)
        if site_admin is not None and site_admin != user.is_superuser:
            set_site_admin(user, site_admin)


def set_active(user: User, active: bool) -> None:
    """Activate or deactivate a user; a deactivated one is signed out, and tokens are rejected.

    Raises Conflict for the last active site admin.
    """
    with transaction.atomic():
        if not active:
            _check_not_last_admin(user)
        user.is_active = active
        user.save(update_fields=["is_active"])
        record(
            Action.USER_ACTIVATED if active else Action.USER_DEACTIVATED,
            target=user.get_username(),
        )
        if not active:
            sessions.end_sessions(user)


def set_site_admin(user: User, site_admin: bool) -> None:
    """Make a user a site admin, or no longer one. Raises Conflict for the last active one."""
    with transaction.atomic():
        if not site_admin:
            _check_not_last_admin(user)
        user.is_superuser = user.is_staff = site_admin
        user.save(update_fields=["is_superuser", "is_staff"])
        record(
            Action.SITE_ADMIN_ADDED if site_admin else Action.SITE_ADMIN_REMOVED,
            target=user.get_username(),
        )


def check_password(password: str, user: User, field: str = "password") -> None:
    """Raise Invalid for a password that is too weak."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise _invalid(user.username, field, " ".join(error.messages)) from error


def _new_user(name: str, email: str, site_admin: bool) -> User:
    user = User(username=name, email=email, is_superuser=site_admin, is_staff=site_admin)
    try:
        User._meta.get_field("username").clean(name, user)
        if name in (".", ".."):
            raise ValidationError('"." and ".." cannot be part of an address.')
    except ValidationError as error:
        raise _invalid(name, "name", " ".join(error.messages)) from error
    try:
        if email:
            validate_email(email)
    except ValidationError as error:
        raise _invalid(name, "email", " ".join(error.messages)) from error
    return user


def _save_new(user: User, action: AuditEntry.Action) -> User:
    try:
        with transaction.atomic():
            user.save(force_insert=True)
            about = {"email": user.email, "site_admin": user.is_superuser}
            record(action, target=user.get_username(), details=about)
    except IntegrityError as error:
        raise AlreadyExists("users", user.username) from error
    return user


def _link_of(user: User) -> PasswordLink:
    number = urlsafe_base64_encode(force_bytes(user.pk))
    token = default_token_generator.make_token(user)
    expires_at = timezone.now() + timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    return PasswordLink(user, reverse("set-password", args=[number, token]), expires_at)


def _check_not_last_admin(user: User) -> None:
    """Lock the site admins, so that two requests at once cannot remove both of the last two."""
    admins = User.objects.filter(is_superuser=True, is_active=True).order_by("pk")
    if [each.pk for each in admins.select_for_update()] == [user.pk]:
        raise Conflict("users", user.get_username(), "the last active site admin must remain one")


def _invalid(name: str, field: str, message: str) -> Invalid:
    return Invalid("users", name, [Cause("FieldValueInvalid", message, field)])

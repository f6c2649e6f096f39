"""The identities at the OpenID Connect provider with which a user signs in."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from apps.cluster.errors import Conflict, NotFound
from apps.people.audit.recording import record
from apps.people.groups import remove_from_groups
from apps.people.models import AuditEntry, OpenIdIdentity


def list_identities(user: User) -> list[OpenIdIdentity]:
    """The identities of a user, oldest first."""
    return list(OpenIdIdentity.objects.filter(user=user).order_by("pk"))


def delete_identity(user: User, number: int) -> OpenIdIdentity:
    """Delete the link of an identity, and what it added the user to groups for.

    Raises NotFound if the user has no such identity, and Conflict if it is the only way to sign in.
    """
    with transaction.atomic():
        # of two requests for two identities, the second one sees what is left
        locked = User.objects.select_for_update().get(pk=user.pk)
        identities = list_identities(locked)
        identity = next((each for each in identities if each.pk == number), None)
        if identity is None:
            raise NotFound("identities", str(number))
        if len(identities) == 1 and not locked.has_usable_password():
            why = "this identity is the only way to sign in; set a password first"
            raise Conflict("users", user.get_username(), why)
        remove_from_groups(locked, list(identity.groups.all()))
        about = {"issuer": identity.issuer, "subject": identity.subject}
        record(AuditEntry.Action.IDENTITY_REMOVED, target=user.get_username(), details=about)
        identity.delete()
    return identity

"""The tables of users: their tokens, their sessions, and what they did."""

from __future__ import annotations

import hashlib

from django.contrib.auth.models import Group, User
from django.contrib.postgres.fields import ArrayField
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone
from knox.models import AbstractAuthToken
from knox.settings import CONSTANTS


class AccessToken(AbstractAuthToken):  # type: ignore[misc]
    """A token of a user's programs; only its digest is stored.

    `token_key` is its beginning, by which a user recognizes it; `expiry` is null for a token that
    does not expire.
    """

    id = models.BigAutoField(primary_key=True)
    digest = models.CharField(max_length=CONSTANTS.DIGEST_LENGTH, unique=True)
    #: Unique among the tokens of the user.
    name = models.CharField(max_length=100)
    #: Names of the clusters that it reaches; null for all.
    clusters = ArrayField(models.CharField(max_length=63), null=True)
    read_only = models.BooleanField(default=False)
    #: To the minute: a busy client does not cause a write per request.
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["user", "name"], name="unique_token_name"),)

    def __str__(self) -> str:
        return f"token {self.name} of user {self.user_id}"


class AuditEntry(models.Model):
    """Something that a user did, or tried to do.

    Partitioned by day, and never updated: `apps.cluster.partitions.daily`. Names are texts, because
    entries outlive what they name.
    """

    class Action(models.TextChoices):
        SIGNED_IN = "signed-in", "signed in"
        SIGN_IN_FAILED = "sign-in-failed", "sign-in failed"
        SIGN_IN_BLOCKED = "sign-in-blocked", "sign-in blocked"
        SIGNED_OUT = "signed-out", "signed out"
        SESSION_ENDED = "session-ended", "session ended"
        PASSWORD_CHANGED = "password-changed", "password changed"
        IDENTITY_LINKED = "identity-linked", "identity linked"
        IDENTITY_REMOVED = "identity-removed", "identity removed"
        REFUSED = "refused", "request refused"
        TOKEN_REFUSED = "token-refused", "token refused"
        EXPORTED = "exported", "exported"
        TOKEN_CREATED = "token-created", "token created"
        TOKEN_DELETED = "token-deleted", "token deleted"
        USER_CREATED = "user-created", "user created"
        USER_INVITED = "user-invited", "user invited"
        USER_RESET = "user-reset", "reset link created"
        USER_ACTIVATED = "user-activated", "user activated"
        USER_DEACTIVATED = "user-deactivated", "user deactivated"
        SITE_ADMIN_ADDED = "site-admin-added", "site admin added"
        SITE_ADMIN_REMOVED = "site-admin-removed", "site admin removed"
        ROLE_CHANGED = "role-changed", "role changed"
        GROUP_CHANGED = "group-changed", "group changed"
        CLUSTER_CREATED = "cluster-created", "cluster created"
        CLUSTER_DELETED = "cluster-deleted", "cluster deleted"
        CLUSTER_PAUSED = "cluster-paused", "cluster paused"
        CLUSTER_RESUMED = "cluster-resumed", "cluster resumed"
        SETTINGS_CHANGED = "settings-changed", "settings changed"
        CONFIGURATION_ACTIVATED = "configuration-activated", "configuration activated"

    id = models.BigAutoField(primary_key=True)
    time = models.DateTimeField(default=timezone.now)
    #: One of Action, or one that a newer version knows.
    action = models.CharField(max_length=40)
    #: Empty: the site itself.
    user = models.CharField(max_length=150, blank=True)
    #: The name of the token; empty for a session, a command, or before the sign-in.
    token = models.CharField(max_length=100, blank=True)
    address = models.CharField(max_length=45, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    cluster = models.CharField(max_length=63, blank=True)
    #: What it was done to: a user, a token, a setting, an address.
    target = models.CharField(max_length=500, blank=True)
    details = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = (
            models.Index(fields=["user", "id"], name="audit_by_user"),
            models.Index(fields=["cluster", "id"], name="audit_by_cluster"),
            models.Index(fields=["action", "id"], name="audit_by_action"),
        )

    @property
    def label(self) -> str:
        """The action in words."""
        return dict(self.Action.choices).get(self.action, self.action)

    def __str__(self) -> str:
        return f"{self.user or 'the site'}: {self.action} {self.target}"


class UserSession(AbstractBaseSession):
    """A session of a browser. `apps.people.sessions` reads and writes it."""

    #: Null before the sign-in.
    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE)
    #: Where the user signed in.
    address = models.CharField(max_length=45, blank=True)
    agent = models.CharField(max_length=200, blank=True)
    signed_in_at = models.DateTimeField(default=timezone.now)
    #: To the minute.
    last_used_at = models.DateTimeField(default=timezone.now)

    @property
    def public_id(self) -> str:
        """What names it in addresses: its key would be enough to use it."""
        return hashlib.sha256(self.session_key.encode()).hexdigest()[:16]

    @classmethod
    def get_session_store_class(cls) -> type[SessionBase]:
        from apps.people.sessions import SessionStore

        return SessionStore


class OpenIdIdentity(models.Model):
    """A user as the OpenID Connect provider identifies them."""

    user = models.ForeignKey(User, on_delete=models.CASCADE)
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    #: The groups to which logins have added the user.
    groups = models.ManyToManyField(Group, related_name="+")

    class Meta:
        verbose_name_plural = "OpenID identities"
        constraints = (
            models.UniqueConstraint(fields=["issuer", "subject"], name="unique_openid_identity"),
        )

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"

"""The tables of users: their tokens."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
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

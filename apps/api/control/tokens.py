"""The access tokens of the user who sends the request."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.base import ControlView
from apps.api.control.documentation.areas import Area
from apps.api.control.request_shapes import StrictSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.people import tokens
from apps.people.models import AccessToken

#: Headers of responses with a secret.
NEVER_STORED = {"Cache-Control": "no-store"}


class TokenSerializer(serializers.ModelSerializer[AccessToken]):
    start = serializers.CharField(source="token_key", help_text="Its first characters.")
    created_at = serializers.DateTimeField(source="created")
    expires_at = serializers.DateTimeField(
        source="expiry", allow_null=True, help_text="Null: it does not expire."
    )

    class Meta:
        model = AccessToken
        fields = (
            "id",
            "name",
            "start",
            "clusters",
            "read_only",
            "created_at",
            "expires_at",
            "last_used_at",
        )
        extra_kwargs = {
            "clusters": {"help_text": "Clusters that it reaches; null: all."},
            "read_only": {"help_text": "Whether it only reads."},
            "last_used_at": {"help_text": "To the minute; null: never."},
        }


class CreatedTokenSerializer(TokenSerializer):
    token = serializers.CharField(help_text="Shown only now: store it.")

    class Meta(TokenSerializer.Meta):
        fields = (*TokenSerializer.Meta.fields, "token")  # type: ignore[assignment]


class NewTokenSerializer(StrictSerializer):
    name = serializers.CharField(max_length=100, help_text="Unique among your tokens.")
    clusters = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        default=None,
        help_text="Names of the clusters that it reaches; null: all.",
    )
    read_only = serializers.BooleanField(  # type: ignore[assignment]
        default=False, help_text="Whether it only reads."
    )
    expires_at = serializers.DateTimeField(
        allow_null=True, default=None, help_text="Null: it does not expire."
    )


def sender(request: Request) -> User:
    """The user who sends the request; the permission of the view lets no one else pass."""
    assert isinstance(request.user, User)
    return request.user


def describe_created(created: tokens.NewToken) -> dict[str, Any]:
    """A new token with its text."""
    created.token.token = created.key
    body: dict[str, Any] = CreatedTokenSerializer(created.token).data
    return body


class TokenListView(ControlView):
    """Your access tokens."""

    area = Area.ACCOUNT

    @extend_schema(responses={200: TokenSerializer(many=True)})
    def get(self, request: Request) -> Response:
        """List your tokens.

        Newest first, expired ones as well. A token itself is returned only when it is created.
        """
        listed = tokens.list_tokens(sender(request))
        return Response(TokenSerializer(listed, many=True).data)

    @extend_schema(
        request=NewTokenSerializer,
        responses={
            201: CreatedTokenSerializer,
            **dict.fromkeys((400, 403, 409, 422), ErrorSerializer),
        },
    )
    def post(self, request: Request) -> Response:
        """Create a token.

        Programs send it as `Authorization: Bearer TOKEN`. The response is the only one that
        contains it. A token that is limited to clusters or to reading cannot create tokens.
        """
        user = sender(request)
        wanted = NewTokenSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        created = tokens.create_token(user, **wanted.validated_data)
        body = describe_created(created)
        return Response(body, status=status.HTTP_201_CREATED, headers=NEVER_STORED)


class TokenView(ControlView):
    """One access token."""

    area = Area.ACCOUNT
    path_help = {"token_id": "Id of the token."}

    @extend_schema(responses={200: TokenSerializer, 404: ErrorSerializer})
    def get(self, request: Request, token_id: int) -> Response:
        """Read a token of yours.

        Its limits, and when it was last used.
        """
        return Response(TokenSerializer(tokens.find_token(sender(request), token_id)).data)

    @extend_schema(responses={204: None, 403: ErrorSerializer, 404: ErrorSerializer})
    def delete(self, request: Request, token_id: int) -> Response:
        """Delete a token of yours.

        Requests with it are rejected within seconds, and its streams end.
        """
        user = sender(request)
        tokens.delete_token(user, token_id)
        return Response(status=status.HTTP_204_NO_CONTENT)

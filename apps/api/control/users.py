"""The users of the site, for site admins; the sessions of the user who sends the request."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import answer
from apps.api.control.base import ControlView
from apps.api.control.documentation.areas import Area
from apps.api.control.request_shapes import StrictSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.api.control.tokens import NEVER_STORED, TokenSerializer, sender
from apps.people import accounts, sessions, tokens
from apps.people.mail import send_link
from apps.people.models import UserSession

_FORBIDDEN = {403: ErrorSerializer}
_NOT_FOUND = {403: ErrorSerializer, 404: ErrorSerializer}


class UserSerializer(serializers.ModelSerializer[User]):
    name = serializers.CharField(source="username")
    email = serializers.CharField(help_text="Empty: none.")
    site_admin = serializers.BooleanField(
        source="is_superuser", help_text="Whether the user administers the site."
    )
    active = serializers.BooleanField(
        source="is_active", help_text="Whether the user may sign in and use tokens."
    )
    has_password = serializers.BooleanField(
        source="has_usable_password", help_text="False: invited, or signs in with OpenID Connect."
    )
    created_at = serializers.DateTimeField(source="date_joined")
    signed_in_at = serializers.DateTimeField(
        source="last_login", allow_null=True, help_text="The last sign-in; null: never."
    )

    class Meta:
        model = User
        fields = (
            "name",
            "email",
            "site_admin",
            "active",
            "has_password",
            "created_at",
            "signed_in_at",
        )


class NewUserSerializer(StrictSerializer):
    name = serializers.CharField(max_length=150, help_text="Letters, digits and @.+-_")
    email = serializers.CharField(default="", allow_blank=True, max_length=254)
    site_admin = serializers.BooleanField(default=False)


class ChangedUserSerializer(StrictSerializer):
    active = serializers.BooleanField(required=False)
    site_admin = serializers.BooleanField(required=False)


@dataclass(frozen=True, slots=True)
class Link:
    user: str
    #: works once. Shown only now
    link: str
    expires_at: datetime
    #: whether it was sent to the user's address
    mailed: bool


class SessionSerializer(serializers.ModelSerializer[UserSession]):
    id = serializers.CharField(source="public_id")

    class Meta:
        model = UserSession
        fields = ("id", "address", "agent", "signed_in_at", "last_used_at")
        extra_kwargs = {
            "address": {"help_text": "Where the user signed in."},
            "agent": {"help_text": "The browser."},
        }


class Ended(NamedTuple):
    #: number of sessions
    ended: int


def _answer_link(request: Request, link: accounts.PasswordLink) -> Response:
    url = request.build_absolute_uri(link.path)
    sent_link = Link(link.user.get_username(), url, link.expires_at, send_link(link, url))
    return answer(sent_link, status=status.HTTP_201_CREATED, headers=NEVER_STORED)


class AdminView(ControlView):
    """A view for site admins."""

    area = Area.USERS
    path_help = {"name": "Name of the user.", "token_id": "Id of the token."}


class UserListView(AdminView):
    """All users."""

    @extend_schema(responses={200: UserSerializer(many=True), **_FORBIDDEN})
    def get(self, request: Request) -> Response:
        """List users.

        By name, inactive ones as well.
        """
        return Response(UserSerializer(accounts.list_users(), many=True).data)

    @extend_schema(
        request=NewUserSerializer,
        responses={201: Link, **dict.fromkeys((400, 403, 409, 422), ErrorSerializer)},
    )
    def post(self, request: Request) -> Response:
        """Invite a user.

        The user sets a password with the link, which works once and expires. It is also sent by
        mail if the site has a mail server and the user an address.
        """
        wanted = NewUserSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        return _answer_link(request, accounts.invite_user(**wanted.validated_data))


class UserView(AdminView):
    """One user."""

    @extend_schema(responses={200: UserSerializer, **_NOT_FOUND})
    def get(self, request: Request, name: str) -> Response:
        """Read a user.

        Whether the user is active and a site admin, and the last sign-in.
        """
        return Response(UserSerializer(accounts.user_named(name)).data)

    @extend_schema(
        request=ChangedUserSerializer,
        responses={200: UserSerializer, 400: ErrorSerializer, 409: ErrorSerializer, **_NOT_FOUND},
    )
    def patch(self, request: Request, name: str) -> Response:
        """Change a user.

        A deactivated user is signed out, and requests with their tokens are rejected. The last
        active site admin cannot be deactivated and stays a site admin.
        """
        user = accounts.user_named(name)
        wanted = ChangedUserSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        accounts.change_user(user, **wanted.validated_data)
        return Response(UserSerializer(user).data)


class UserResetView(AdminView):
    """A new password of a user."""

    @extend_schema(request=None, responses={201: Link, **_NOT_FOUND})
    def post(self, request: Request, name: str) -> Response:
        """Create a link to reset a password.

        The user sets a new password with it, once. The present password is valid until then.
        """
        return _answer_link(request, accounts.reset_user(accounts.user_named(name)))


class UserSignOutView(AdminView):
    """The sessions of a user."""

    @extend_schema(request=None, responses={200: Ended, **_NOT_FOUND})
    def post(self, request: Request, name: str) -> Response:
        """Sign a user out everywhere.

        Ends all sessions of the user. Tokens remain valid.
        """
        return answer(Ended(sessions.end_sessions(accounts.user_named(name))))


class UserTokenListView(AdminView):
    """The tokens of a user."""

    @extend_schema(responses={200: TokenSerializer(many=True), **_NOT_FOUND})
    def get(self, request: Request, name: str) -> Response:
        """List the tokens of a user.

        Newest first, with the limits and the last use of each.
        """
        listed = tokens.list_tokens(accounts.user_named(name))
        return Response(TokenSerializer(listed, many=True).data)


class UserTokenView(AdminView):
    """One token of a user."""

    @extend_schema(responses={204: None, **_NOT_FOUND})
    def delete(self, request: Request, name: str, token_id: int) -> Response:
        """Delete a token of a user.

        Requests with it are rejected within seconds.
        """
        tokens.delete_token(accounts.user_named(name), token_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class SessionListView(ControlView):
    """Your sessions."""

    area = Area.ACCOUNT

    @extend_schema(responses={200: SessionSerializer(many=True)})
    def get(self, request: Request) -> Response:
        """List your sessions.

        The browsers in which you are signed in, last used first.
        """
        listed = sessions.list_sessions(sender(request))
        return Response(SessionSerializer(listed, many=True).data)

    @extend_schema(operation_id="sessions_destroy_all", responses={200: Ended, **_FORBIDDEN})
    def delete(self, request: Request) -> Response:
        """Sign out everywhere.

        Ends all of your sessions. Tokens remain valid.
        """
        return answer(Ended(sessions.end_sessions(sender(request))))


class SessionView(ControlView):
    """One session of yours."""

    area = Area.ACCOUNT
    path_help = {"session_id": "Id of the session."}

    @extend_schema(responses={204: None, **_NOT_FOUND})
    def delete(self, request: Request, session_id: str) -> Response:
        """Sign out one session.

        The browser has to sign in again.
        """
        sessions.end_session(sender(request), session_id)
        return Response(status=status.HTTP_204_NO_CONTENT)

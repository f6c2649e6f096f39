"""Groups of users, for site admins."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.request_shapes import StrictSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.api.control.users import AdminView
from apps.people import groups

_FORBIDDEN = {403: ErrorSerializer}
_NOT_FOUND = {403: ErrorSerializer, 404: ErrorSerializer}


class UserGroupSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    users = serializers.SerializerMethodField(help_text="Names of the users in it, sorted.")

    def get_users(self, group: Group) -> list[str]:
        return groups.users_of(group)


class ChangedUserGroupSerializer(StrictSerializer):
    users = serializers.ListField(
        child=serializers.CharField(max_length=150), help_text="Names of all users in it."
    )


class NewUserGroupSerializer(ChangedUserGroupSerializer):
    name = serializers.CharField(max_length=150)
    users = serializers.ListField(
        child=serializers.CharField(max_length=150), default=list, help_text="Names of users."
    )


class GroupListView(AdminView):
    """All groups."""

    @extend_schema(responses={200: UserGroupSerializer(many=True), **_FORBIDDEN})
    def get(self, request: Request) -> Response:
        """List groups of users.

        By name. A group is a member of clusters as a user is, and gives its role to all its users.
        """
        return Response(UserGroupSerializer(groups.list_groups(), many=True).data)

    @extend_schema(
        request=NewUserGroupSerializer,
        responses={
            201: UserGroupSerializer,
            **dict.fromkeys((400, 403, 409, 422), ErrorSerializer),
        },
    )
    def post(self, request: Request) -> Response:
        """Create a group of users.

        It has no role before it is added to a cluster's members.
        """
        wanted = NewUserGroupSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        group = groups.create_group(**wanted.validated_data)
        return Response(UserGroupSerializer(group).data, status=status.HTTP_201_CREATED)


class GroupView(AdminView):
    """One group."""

    path_help = {"name": "Name of the group."}

    @extend_schema(responses={200: UserGroupSerializer, **_NOT_FOUND})
    def get(self, request: Request, name: str) -> Response:
        """Read a group of users.

        With the names of its users.
        """
        return Response(UserGroupSerializer(groups.group_named(name)).data)

    @extend_schema(
        request=ChangedUserGroupSerializer,
        responses={
            200: UserGroupSerializer,
            400: ErrorSerializer,
            422: ErrorSerializer,
            **_NOT_FOUND,
        },
    )
    def put(self, request: Request, name: str) -> Response:
        """Replace the users of a group.

        Who is no longer in it loses the roles that it gives, within seconds.
        """
        group = groups.group_named(name)
        wanted = ChangedUserGroupSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        groups.set_users(group, wanted.validated_data["users"])
        return Response(UserGroupSerializer(groups.group_named(name)).data)

    @extend_schema(responses={204: None, **_NOT_FOUND})
    def delete(self, request: Request, name: str) -> Response:
        """Delete a group of users.

        It is no longer a member of any cluster; its users remain.
        """
        groups.delete_group(groups.group_named(name))
        return Response(status=status.HTTP_204_NO_CONTENT)

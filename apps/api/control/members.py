"""The members of a cluster, and who sees it."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from apps.api.control.base import ControlView
from apps.api.control.documentation.areas import Area
from apps.api.control.request_shapes import StrictSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.access.gate import require_role
from apps.cluster.models import Cluster, Membership
from apps.cluster.queries import cluster_named
from apps.cluster.roles import MEMBER_ROLES, Role, Visibility, role_named
from apps.people import members

_ROLES = [role.label for role in MEMBER_ROLES]
_ERRORS = {400: ErrorSerializer, 404: ErrorSerializer}


class MemberSerializer(serializers.ModelSerializer[Membership]):
    user = serializers.CharField(
        source="user.username", default=None, allow_null=True, help_text="Null for a group."
    )
    group = serializers.CharField(
        source="group.name", default=None, allow_null=True, help_text="Null for a user."
    )
    role = serializers.ChoiceField(_ROLES, source="get_role_display")

    class Meta:
        model = Membership
        fields = ("id", "user", "group", "role", "added_at", "added_by")


class AccessSerializer(serializers.Serializer[Any]):
    visibility = serializers.ChoiceField(
        Visibility.values,
        help_text="`private`: only the owner; `members`: also the members; `everyone`: all users "
        "are viewers. Site admins see every cluster.",
    )
    owner = serializers.CharField(
        allow_null=True, help_text="The user who administers it; null for a command."
    )
    your_role = serializers.ChoiceField(
        [role.label for role in Role], help_text="The role of the user who sends the request."
    )
    members = MemberSerializer(many=True)


class NewMemberSerializer(StrictSerializer):
    user = serializers.CharField(default="", help_text="Name of a user; or give a group.")
    group = serializers.CharField(default="", help_text="Name of a group of users.")
    role = serializers.ChoiceField(_ROLES)


class RoleSerializer(StrictSerializer):
    role = serializers.ChoiceField(_ROLES)


class ChangedAccessSerializer(StrictSerializer):
    visibility = serializers.ChoiceField(Visibility.values, required=False)
    owner = serializers.CharField(required=False, help_text="Name of the new owner.")


class MemberViewSet(ControlView, GenericViewSet[Membership]):
    """Who has which role in a cluster."""

    area = Area.MEMBERS
    path_help = {"id": "Id of the member."}
    queryset = Membership.objects.none()
    serializer_class = MemberSerializer

    @extend_schema(responses={200: AccessSerializer, 404: ErrorSerializer})
    def overview(self, request: Request, cluster: str) -> Response:
        """List the members of a cluster.

        With its visibility, its owner, and your own role. The members with the highest role are
        first.
        """
        return Response(_present(request, cluster_named(cluster)))

    @extend_schema(
        request=NewMemberSerializer,
        responses={201: MemberSerializer, 409: ErrorSerializer, **_ERRORS},
    )
    def create(self, request: Request, cluster: str) -> Response:
        """Add a member.

        Gives a user, or every user of a group, a role. Who has several roles has the highest one.
        """
        wanted = NewMemberSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        typed = wanted.validated_data
        added = members.add_member(
            cluster_named(cluster),
            user=typed["user"],
            group=typed["group"],
            role=_role(typed["role"]),
            actor=request.user.get_username(),
        )
        return Response(self.get_serializer(added).data, status=status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="clusters_access_partial_update",
        request=ChangedAccessSerializer,
        responses={200: AccessSerializer, **_ERRORS},
    )
    def access(self, request: Request, cluster: str) -> Response:
        """Change the visibility or the owner.

        What the body omits stays as it is.
        """
        wanted = ChangedAccessSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        target, actor = cluster_named(cluster), request.user.get_username()
        if owner := wanted.validated_data.get("owner"):
            members.set_owner(target, owner, actor=actor)
        if visibility := wanted.validated_data.get("visibility"):
            members.set_visibility(target, visibility, actor=actor)
        return Response(_present(request, target))

    @extend_schema(request=RoleSerializer, responses={200: MemberSerializer, **_ERRORS})
    def partial_update(self, request: Request, cluster: str, pk: int) -> Response:
        """Change the role of a member.

        It counts at once, and in other processes of the site within seconds.
        """
        wanted = RoleSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        changed = members.change_role(
            cluster_named(cluster),
            pk,
            role=_role(wanted.validated_data["role"]),
            actor=request.user.get_username(),
        )
        return Response(self.get_serializer(changed).data)

    @extend_schema(responses={204: None, 404: ErrorSerializer})
    def destroy(self, request: Request, cluster: str, pk: int) -> Response:
        """Remove a member.

        Requests and streams of the member end within seconds.
        """
        members.remove_member(cluster_named(cluster), pk, actor=request.user.get_username())
        return Response(status=status.HTTP_204_NO_CONTENT)


def _role(name: str) -> Role:
    role = role_named(name)
    # the serializer has checked it
    assert role is not None
    return role


def _present(request: Request, cluster: Cluster) -> dict[str, Any]:
    access = members.get_access(cluster)
    role = require_role(request.user, cluster.pk, cluster.name, Role.VIEWER)
    return {
        "visibility": access.visibility,
        "owner": access.owner.username if access.owner else None,
        "your_role": role.label,
        "members": MemberSerializer(members.list_members(cluster), many=True).data,
    }

"""The revisions of a scheduler's configuration, drafts and previews."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from apps.administration.operations import previewing
from apps.api.control.answers import answer
from apps.api.control.base import ControlView, parse_whole_number
from apps.api.control.documentation.areas import Area
from apps.api.control.operations import OperationSerializer, get_actor
from apps.api.control.parsers import JsonParser, YamlParser
from apps.api.control.profile_serializers import (
    ConfigurationSerializer,
    DraftSerializer,
    NewDraftSerializer,
    NewPreviewSerializer,
    NewProfileSerializer,
    PreviewSerializer,
    ProfileLabelsSerializer,
    ProfileSerializer,
)
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.models import Cluster
from apps.cluster.queries import cluster_named
from apps.engine import queries
from apps.engine.models import ConfigurationDraft, ConfigurationRevision
from apps.engine.profiles import drafts, revisions
from apps.engine.profiles.configuration_differences import (
    ProfileDifferences,
    compare_configurations,
)
from apps.engine.profiles.private_keys import visible_to
from apps.scheduler.config.warnings import find_warnings

_REFUSALS = {400: ErrorSerializer, 404: ErrorSerializer, 422: ErrorSerializer}
_MISSING = {404: ErrorSerializer}
YAML = "application/yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    #: what is allowed and probably not wanted
    warnings: Sequence[str]
    #: compared with the active revision
    effects: Sequence[ProfileDifferences]
    #: pending pods that no profile would schedule, by schedulerName
    stranded_pods: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionDiff:
    before: int
    after: int
    #: what the scheduler does differently, with defaults applied
    effects: Sequence[ProfileDifferences]
    #: the unified diff of the texts; empty: identical
    text: str


@extend_schema_view(
    list=extend_schema(
        summary="List the revisions of a configuration",
        description="All revisions of the cluster's KubeSchedulerConfiguration, newest first. One "
        "is active.",
        responses={200: ProfileSerializer(many=True), **_MISSING},
    ),
    retrieve=extend_schema(
        summary="Read a revision",
        description="A revision with its text, which never changes.",
        responses={200: ProfileSerializer, **_MISSING},
    ),
)
class ProfileViewSet(
    ControlView,
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    GenericViewSet[ConfigurationRevision],
):
    """The revisions of a cluster's KubeSchedulerConfiguration; the text of one never changes."""

    area = Area.PROFILES
    queryset = ConfigurationRevision.objects.none()
    serializer_class = ProfileSerializer
    parser_classes = [JsonParser, YamlParser]
    lookup_field = "revision"
    lookup_value_regex = r"\d{1,9}"

    def get_queryset(self) -> Any:
        return revisions.revisions_of(cluster_named(self.kwargs["cluster"]))

    def get_object(self) -> ConfigurationRevision:
        cluster = cluster_named(self.kwargs["cluster"])
        return revisions.get_revision(cluster, int(self.kwargs["revision"]))

    @extend_schema(
        request={"application/json": NewProfileSerializer, YAML: OpenApiTypes.STR},
        responses={201: ProfileSerializer, **_REFUSALS},
    )
    def create(self, request: Request, cluster: str) -> Response:
        """Store a configuration as a revision.

        The revision is activated unless `activate` is false. An invalid configuration is answered
        with all its errors, and nothing is stored. A body of YAML is the configuration itself.
        """
        wanted = NewProfileSerializer(data=read_configuration(request))
        wanted.is_valid(raise_exception=True)
        typed = wanted.validated_data
        added = revisions.add_revision(
            cluster_named(cluster),
            typed["configuration"],
            user=request.user.get_username(),
            name=typed["name"],
            note=typed["note"],
            legacy=typed["legacy"],
            active=typed["activate"],
        )
        return Response(self.get_serializer(added).data, status=status.HTTP_201_CREATED)

    @extend_schema(
        request={"application/json": ProfileLabelsSerializer},
        responses={200: ProfileSerializer, **_REFUSALS},
    )
    def partial_update(self, request: Request, cluster: str, revision: str) -> Response:
        """Rename a revision.

        Sets its name and its note; the configuration of a revision never changes.
        """
        wanted = ProfileLabelsSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        renamed = revisions.rename(cluster_named(cluster), int(revision), **wanted.validated_data)
        return Response(self.get_serializer(renamed).data)

    @extend_schema(request=None, responses={200: ProfileSerializer, **_MISSING})
    @action(detail=True, methods=["post"])
    def activate(self, request: Request, cluster: str, revision: str) -> Response:
        """Activate a revision.

        The scheduler uses it from its next pod on.
        """
        activated = revisions.activate(cluster_named(cluster), int(revision))
        return Response(self.get_serializer(activated).data)

    @extend_schema(
        request={"application/json": ConfigurationSerializer, YAML: OpenApiTypes.STR},
        responses={200: Checked, **_REFUSALS},
    )
    @action(detail=False, methods=["post"])
    def check(self, request: Request, cluster: str) -> Response:
        """Check a configuration.

        Stores nothing. The response has what would change compared with the active revision, and
        the pending pods that no profile would schedule; or all errors.
        """
        target = cluster_named(cluster)
        wanted = ConfigurationSerializer(data=read_configuration(request))
        wanted.is_valid(raise_exception=True)
        typed = wanted.validated_data
        configuration = revisions.check(typed["configuration"], legacy=typed["legacy"])
        active = revisions.load_configuration(revisions.get_active(target))
        checked = Checked(
            warnings=find_warnings(configuration),
            effects=compare_configurations(active, configuration),
            stranded_pods=queries.count_stranded_pods(target, configuration),
        )
        return answer(checked)

    @extend_schema(
        parameters=[
            OpenApiParameter("before", int, description="The other revision; default: the active.")
        ],
        responses={200: RevisionDiff, 400: ErrorSerializer, **_MISSING},
    )
    @action(detail=True, methods=["get"])
    def diff(self, request: Request, cluster: str, revision: str) -> Response:
        """Compare two revisions.

        What the scheduler does differently from revision `before` to this one, and the unified
        diff of the texts.
        """
        target = cluster_named(cluster)
        number = parse_whole_number(request, "before", 0, highest=10**9)
        before = revisions.get_revision(target, number) if number else revisions.get_active(target)
        after = revisions.get_revision(target, int(revision))
        old, new = (
            visible_to(request.user, target.pk, each.configuration).splitlines(keepends=True)
            for each in (before, after)
        )
        lines = unified_diff(
            old,
            new,
            f"revision {before.revision}",
            f"revision {after.revision}",
        )
        compared = RevisionDiff(
            before=before.revision,
            after=after.revision,
            effects=compare_configurations(
                revisions.load_configuration(before), revisions.load_configuration(after)
            ),
            text="".join(lines),
        )
        return answer(compared)


@extend_schema_view(
    list=extend_schema(
        summary="List drafts",
        description="Configurations that are still being written, the latest first.",
        responses={200: DraftSerializer(many=True), **_MISSING},
    ),
)
class DraftViewSet(ControlView, mixins.ListModelMixin, GenericViewSet[ConfigurationDraft]):
    """Configurations that are still being written, and may be invalid."""

    area = Area.PROFILES
    path_help = {"name": "Name of the draft."}
    queryset = ConfigurationDraft.objects.none()
    serializer_class = DraftSerializer
    lookup_field = "name"
    lookup_value_regex = "[^/]+"

    def get_queryset(self) -> Any:
        return drafts.drafts_of(cluster_named(self.kwargs["cluster"]))

    @extend_schema(responses={200: DraftSerializer, 404: ErrorSerializer})
    def retrieve(self, request: Request, cluster: str, name: str) -> Response:
        """Read a draft.

        A draft may be invalid.
        """
        return Response(self.get_serializer(drafts.get_draft(cluster_named(cluster), name)).data)

    @extend_schema(request=NewDraftSerializer, responses={200: DraftSerializer, **_REFUSALS})
    def update(self, request: Request, cluster: str, name: str) -> Response:
        """Save a draft.

        Creates the draft, or replaces its content. The configuration may be invalid.
        """
        wanted = NewDraftSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        user = request.user.get_username()
        saved = drafts.save_draft(cluster_named(cluster), name, user=user, **wanted.validated_data)
        return Response(self.get_serializer(saved).data)

    @extend_schema(responses={204: None, 404: ErrorSerializer})
    def destroy(self, request: Request, cluster: str, name: str) -> Response:
        """Delete a draft.

        Revisions that were created from it stay.
        """
        drafts.delete_draft(cluster_named(cluster), name)
        return Response(status=status.HTTP_204_NO_CONTENT)


class PreviewListView(ControlView):
    """Previews of a configuration."""

    area = Area.PROFILES

    @extend_schema(request=NewPreviewSerializer, responses={202: OperationSerializer, **_REFUSALS})
    def post(self, request: Request, cluster: str) -> Response:
        """Preview a configuration.

        Starts an operation that decides the newest decisions again, each in the state it saw,
        under one of `configuration`, `revision` and `draft`.
        """
        target = cluster_named(cluster)
        wanted = NewPreviewSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        typed = wanted.validated_data
        text, legacy, subject = _read_subject(target, typed)
        operation = previewing.start_preview(
            target,
            text,
            subject=subject,
            actor=get_actor(request),
            legacy=legacy,
            decisions=typed["decisions"],
            result=typed["result"],
        )
        return Response(OperationSerializer(operation).data, status=status.HTTP_202_ACCEPTED)


class PreviewView(ControlView):
    """One preview."""

    area = Area.PROFILES
    path_help = {"number": "Id of the operation."}

    @extend_schema(responses={200: PreviewSerializer, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str, number: int) -> Response:
        """Read a preview.

        The progress of the operation and, when it has succeeded, which decisions differ.
        """
        operation, result = previewing.get_preview(cluster_named(cluster), number)
        return Response(PreviewSerializer({"operation": operation, "result": result}).data)


def read_configuration(request: Request) -> Any:
    """The body; a body of YAML is the configuration, and so is one of JSON with a kind."""
    data: Any = request.data
    if not isinstance(data, dict):
        return data
    if "yaml" in data:
        return {"configuration": data["yaml"]}
    if "kind" in data and "configuration" not in data:
        return {"configuration": json.dumps(data)}
    return data


def _read_subject(cluster: Cluster, typed: dict[str, Any]) -> tuple[str, bool, str]:
    """The configuration to preview, whether it is legacy, and what it is called."""
    if number := typed.get("revision"):
        revision = revisions.get_revision(cluster, number)
        return revision.configuration, revision.legacy, f"revision {number}"
    if name := typed.get("draft"):
        draft = drafts.get_draft(cluster, name)
        return draft.configuration, draft.legacy, f"draft {name}"
    return typed["configuration"], typed["legacy"], "a configuration"

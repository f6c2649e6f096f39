"""The webhooks of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from apps.administration.webhooks import service
from apps.administration.webhooks.event_kinds import KINDS
from apps.api.control.answers import answer
from apps.api.control.base import ControlView
from apps.api.control.documentation.areas import Area
from apps.api.control.request_shapes import StrictSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.api.control.tokens import NEVER_STORED
from apps.cluster.queries import cluster_named
from apps.engine.models import Webhook, WebhookDelivery

_ABOUT_KINDS = "Some of " + ", ".join(KINDS) + "."
_INVALID = {400: ErrorSerializer}
_NOT_FOUND = {404: ErrorSerializer}
#: Deliveries that are listed.
_MAX_DELIVERIES = 100


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    class Meta:
        model = Webhook
        fields = ("id", "url", "kinds", "enabled", "user", "created_at")


class WebhookWithSecretSerializer(serializers.ModelSerializer[Webhook]):
    class Meta:
        model = Webhook
        fields = (*WebhookSerializer.Meta.fields, "secret")
        extra_kwargs = {"secret": {"help_text": "Only in responses that create or replace it."}}


class NewWebhookSerializer(StrictSerializer):
    url = serializers.CharField(help_text="An http or https address that accepts POST.")
    kinds = serializers.ListField(child=serializers.CharField(), help_text=_ABOUT_KINDS)
    secret = serializers.CharField(
        default="", allow_blank=True, max_length=100, help_text="Empty: one is created."
    )


class WebhookChangeSerializer(StrictSerializer):
    url = serializers.CharField(
        required=False, help_text="Deliveries that wait are sent to it, too."
    )
    kinds = serializers.ListField(
        child=serializers.CharField(), required=False, help_text=_ABOUT_KINDS
    )
    enabled = serializers.BooleanField(
        required=False, help_text="Events while it is disabled are not sent."
    )


class SecretSerializer(StrictSerializer):
    secret = serializers.CharField(
        default="", allow_blank=True, max_length=100, help_text="Empty: one is created."
    )


@dataclass(frozen=True, slots=True)
class Retry:
    #: how many are sent again
    deliveries: int


class DeliverySerializer(serializers.ModelSerializer[WebhookDelivery]):
    class Meta:
        model = WebhookDelivery
        fields = (
            "id",
            "uid",
            "events",
            "state",
            "attempts",
            "next_at",
            "created_at",
            "finished_at",
            "status_code",
            "duration_ms",
            "answer",
        )


@extend_schema_view(
    list=extend_schema(
        summary="List webhooks",
        description="The webhooks of the cluster.",
        responses={200: WebhookSerializer(many=True), **_NOT_FOUND},
    ),
    retrieve=extend_schema(
        summary="Read a webhook",
        description="Its address, and the kinds of events that it receives.",
        responses={200: WebhookSerializer, **_NOT_FOUND},
    ),
)
class WebhookViewSet(
    ControlView, mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Webhook]
):
    """Addresses that receive the events of a cluster."""

    area = Area.WEBHOOKS
    path_help = {"id": "Id of the webhook."}
    queryset = Webhook.objects.none()
    serializer_class = WebhookSerializer
    pagination_class = None
    lookup_value_regex = r"\d{1,18}"

    def get_queryset(self) -> Any:
        return service.webhooks_of(cluster_named(self.kwargs["cluster"]))

    def get_object(self) -> Webhook:
        return service.get_webhook(cluster_named(self.kwargs["cluster"]), int(self.kwargs["pk"]))

    @extend_schema(
        request=NewWebhookSerializer,
        responses={
            201: WebhookWithSecretSerializer,
            422: ErrorSerializer,
            **_INVALID,
            **_NOT_FOUND,
        },
    )
    def create(self, request: Request, cluster: str) -> Response:
        """Add a webhook.

        It receives events from now on, each signed with its secret, which only this response has.
        """
        wanted = NewWebhookSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        added = service.add_webhook(
            cluster_named(cluster), **wanted.validated_data, user=request.user.get_username()
        )
        body = WebhookWithSecretSerializer(added).data
        return Response(body, status=status.HTTP_201_CREATED, headers=NEVER_STORED)

    @extend_schema(
        request=WebhookChangeSerializer,
        responses={200: WebhookSerializer, 422: ErrorSerializer, **_INVALID, **_NOT_FOUND},
    )
    def partial_update(self, request: Request, cluster: str, pk: str) -> Response:
        """Change a webhook.

        Changes its address or the kinds of events that it receives, or enables or disables it.
        Events while it is disabled are not sent later.
        """
        wanted = WebhookChangeSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        changes = dict(wanted.validated_data)
        enabled = changes.pop("enabled", None)
        webhook = self.get_object()
        if changes:
            service.change_webhook(webhook, **changes)
        if enabled is not None:
            service.set_enabled(webhook, enabled)
        return Response(self.get_serializer(webhook).data)

    @extend_schema(responses={204: None, **_NOT_FOUND})
    def destroy(self, request: Request, cluster: str, pk: str) -> Response:
        """Delete a webhook.

        Deletes the log of its deliveries, too.
        """
        service.delete_webhook(self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={202: DeliverySerializer, **_NOT_FOUND})
    @action(detail=True, methods=["post"])
    def test(self, request: Request, cluster: str, pk: str) -> Response:
        """Test a webhook.

        Sends one event of the kind `test`; the list of deliveries has the result.
        """
        delivery = service.send_test(self.get_object())
        return Response(DeliverySerializer(delivery).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=None, responses={200: Retry, **_NOT_FOUND})
    @action(detail=True, methods=["post"])
    def retry(self, request: Request, cluster: str, pk: str) -> Response:
        """Send failed deliveries again.

        Sends those that wait for their next attempt or were given up as soon as possible.
        """
        return answer(Retry(service.retry(self.get_object())))

    @extend_schema(
        request=SecretSerializer,
        responses={200: WebhookWithSecretSerializer, **_INVALID, **_NOT_FOUND},
    )
    @action(detail=True, methods=["post"])
    def secret(self, request: Request, cluster: str, pk: str) -> Response:
        """Replace the secret of a webhook.

        Requests are signed with the new one from now on. Only this response has it.
        """
        wanted = SecretSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        webhook = self.get_object()
        service.replace_secret(webhook, wanted.validated_data["secret"])
        return Response(WebhookWithSecretSerializer(webhook).data, headers=NEVER_STORED)

    @extend_schema(responses={200: DeliverySerializer(many=True), **_NOT_FOUND})
    @action(detail=True, methods=["get"])
    def deliveries(self, request: Request, cluster: str, pk: str) -> Response:
        """List the deliveries of a webhook.

        The last 100 deliveries, newest first.
        """
        rows = service.deliveries_of(self.get_object())[:_MAX_DELIVERIES]
        return Response(DeliverySerializer(rows, many=True).data)

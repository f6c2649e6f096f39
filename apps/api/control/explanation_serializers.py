"""Serializers of explanations: the fields of the objects in `apps.studies.explanations`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.administration.clusters.forking import Origin
from apps.api.control.serializers import PluginScoreSerializer
from apps.scheduler.plugins.dynamicresources.matrix import ObstacleKind
from apps.studies.explanations.pods import PodExplanation
from apps.studies.explanations.prospects import Prospect
from apps.studies.explanations.waits import LEAST


class _ShareSerializer(PluginScoreSerializer):
    other_raw = serializers.IntegerField()
    other_normalized = serializers.IntegerField()
    other_weighted = serializers.IntegerField()
    difference = serializers.IntegerField()


class ComparisonSerializer(serializers.Serializer[Any]):
    """A feasible node compared with another one; `other` is empty if there is no other."""

    sentence = serializers.CharField()
    node = serializers.CharField()
    total = serializers.IntegerField()
    rank = serializers.IntegerField()
    other = serializers.CharField()
    other_total = serializers.IntegerField()
    other_rank = serializers.IntegerField()
    difference = serializers.IntegerField()
    shares = _ShareSerializer(many=True)


class _DetailSerializer(serializers.Serializer[Any]):
    sentence = serializers.CharField()
    figures = serializers.DictField()


class RefusalSerializer(serializers.Serializer[Any]):
    """The status of one plugin that rejects a node."""

    plugin = serializers.CharField()
    code = serializers.CharField(source="status.code.label")
    reasons = serializers.ListField(child=serializers.CharField(), source="status.reasons")
    for_nominated = serializers.BooleanField()
    details = _DetailSerializer(many=True)


class ScoreInputsSerializer(serializers.Serializer[Any]):
    """One score of a node, from its inputs to its points."""

    plugin = serializers.CharField(help_text="The plugin, or the address of the extender.")
    weight = serializers.IntegerField()
    raw = serializers.IntegerField(help_text="What Score returned.")
    normalized = serializers.IntegerField(help_text="After NormalizeScore, from 0 to 100.")
    weighted = serializers.IntegerField(help_text="Normalized times weight.")
    sentence = serializers.CharField()
    inputs = _DetailSerializer(
        many=True, help_text="What the raw score follows from; the last one is its formula."
    )
    normalization = _DetailSerializer(
        many=True,
        help_text="How the raw score is normalized; empty if the plugin does not normalize.",
    )
    gap = serializers.CharField(help_text="Why there are no inputs; empty if there are.")


class NodeInputsSerializer(serializers.Serializer[Any]):
    node = serializers.CharField()
    total = serializers.IntegerField()
    rank = serializers.IntegerField()
    is_chosen = serializers.BooleanField()
    scores = ScoreInputsSerializer(
        many=True, help_text="Those that differ most between nodes first."
    )


class ScoreInputsOfDecisionSerializer(serializers.Serializer[Any]):
    nodes = NodeInputsSerializer(many=True, help_text="The requested nodes, in order.")


class _VisitedNodeSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField(help_text="From 0.")
    node = serializers.CharField()
    zone = serializers.CharField(help_text="region/zone; empty for a node without either.")
    outcome = serializers.ChoiceField(["feasible", "rejected", "not evaluated"])


class VisitingOrderSerializer(serializers.Serializer[Any]):
    sentence = serializers.CharField()
    start = serializers.IntegerField(help_text="The position at which the search started.")
    evaluated = serializers.IntegerField(
        help_text="How many nodes it evaluated from there on, continued at position 0."
    )
    stop = serializers.IntegerField(help_text="The position at which the next search starts.")
    enough = serializers.IntegerField(
        help_text="The number of feasible nodes after which a search stops."
    )
    nodes = _VisitedNodeSerializer(many=True, help_text="In visiting order.")
    gap = serializers.CharField(help_text="Why the order is not known; empty if it is.")


class NodeExplanationSerializer(serializers.Serializer[Any]):
    node = serializers.CharField()
    outcome = serializers.CharField()
    sentence = serializers.CharField()
    refusals = RefusalSerializer(many=True)
    comparison = ComparisonSerializer(allow_null=True)
    gap = serializers.CharField()


class _DeviceResultSerializer(serializers.Serializer[Any]):
    request = serializers.CharField(help_text="`request`, or `request/alternative`.")
    driver = serializers.CharField()
    pool = serializers.CharField()
    device = serializers.CharField()


class ClaimAllocationSerializer(serializers.Serializer[Any]):
    """A claim of a pod with its devices."""

    namespace = serializers.CharField()
    name = serializers.CharField()
    is_known = serializers.BooleanField(help_text="It had these devices before the decision.")
    devices = _DeviceResultSerializer(many=True, source="allocation.devices.results")


class _HolderSerializer(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    claim = serializers.CharField()
    pods = serializers.ListField(child=serializers.CharField())


class _DeviceObstacleSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField([kind.value for kind in ObstacleKind])
    sentence = serializers.CharField()
    holders = _HolderSerializer(
        many=True, help_text="The claims that have the device, or what it lacks."
    )


class _DeviceCellSerializer(serializers.Serializer[Any]):
    claim = serializers.CharField()
    request = serializers.CharField()
    node = serializers.CharField()
    driver = serializers.CharField()
    pool = serializers.CharField()
    device = serializers.CharField(help_text="Empty for a whole pool that cannot be used.")
    obstacles = _DeviceObstacleSerializer(
        many=True, help_text="Empty for a device that is usable by itself."
    )


class _RequestDevicesSerializer(serializers.Serializer[Any]):
    claim = serializers.CharField()
    request = serializers.CharField()
    device_class = serializers.CharField()
    count = serializers.IntegerField(allow_null=True, help_text="Null for all devices.")
    devices = serializers.IntegerField()
    usable = serializers.IntegerField(help_text="Devices that are usable by themselves.")
    obstacles = serializers.DictField(
        child=serializers.IntegerField(), help_text="Kind of obstacle -> number of devices."
    )


class DeviceMatrixSerializer(serializers.Serializer[Any]):
    """The requests of claims that are to be allocated, each with the devices of nodes."""

    requests = _RequestDevicesSerializer(many=True)
    cells = _DeviceCellSerializer(many=True, help_text="Usable devices first; at most 400.")
    nodes = serializers.IntegerField(help_text="The nodes whose devices were compared.")
    all_nodes = serializers.IntegerField()
    is_complete = serializers.BooleanField()


class DecisionExplanationSerializer(serializers.Serializer[Any]):
    sentence = serializers.CharField()
    here = ComparisonSerializer(allow_null=True)
    nodes = NodeExplanationSerializer(many=True)
    beside = ComparisonSerializer(allow_null=True)
    claims = ClaimAllocationSerializer(many=True)
    devices = DeviceMatrixSerializer(
        allow_null=True,
        help_text=(
            "Which device, and why not another one: of `node`, of the selected node, or of all "
            "nodes. Null for a pod without claims to allocate."
        ),
    )


class _PodsAheadSerializer(serializers.Serializer[Any]):
    priority = serializers.IntegerField()
    namespace = serializers.CharField()
    pods = serializers.IntegerField()


class PlaceSerializer(serializers.Serializer[Any]):
    """The position of a pod in the queue."""

    sentence = serializers.CharField()
    queue = serializers.CharField()
    position = serializers.IntegerField(allow_null=True)
    ahead = serializers.IntegerField()
    of_higher_priority = serializers.IntegerField()
    groups = _PodsAheadSerializer(many=True)


class _WakeEventSerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField()
    event = serializers.CharField()
    sentence = serializers.CharField()
    has_hint = serializers.BooleanField()


class SuggestionSerializer(serializers.Serializer[Any]):
    """A change, or several (`together`), and the number of nodes that are feasible with it."""

    kind = serializers.CharField()
    sentence = serializers.CharField()
    nodes = serializers.IntegerField()
    first_nodes = serializers.ListField(child=serializers.CharField())
    change = serializers.DictField()


class _ObstacleSerializer(serializers.Serializer[Any]):
    plugins = serializers.ListField(child=serializers.CharField())
    nodes = serializers.IntegerField()
    first_nodes = serializers.ListField(child=serializers.CharField())


class UnblockingSerializer(serializers.Serializer[Any]):
    feasible = serializers.IntegerField()
    is_complete = serializers.BooleanField()
    suggestions = SuggestionSerializer(many=True)
    obstacles = _ObstacleSerializer(many=True)


class WaitEstimateSerializer(serializers.Serializer[Any]):
    """From pods with the same scheduler and priority that waited at least as long."""

    sentence = serializers.CharField()
    waited = serializers.FloatField(help_text="Seconds that the pod has waited.")
    median = serializers.FloatField(help_text="Seconds that it waits in addition, by the median.")
    low = serializers.FloatField(help_text="The 10th percentile.")
    high = serializers.FloatField(help_text="The 90th percentile.")
    pods = serializers.IntegerField(help_text="How many pods the figures are from.")


class ProspectSerializer(serializers.Serializer[Any]):
    prospect = serializers.ChoiceField(
        [each.value for each in Prospect],
        help_text="`never`: it would not fit on an empty cluster. `needs capacity`: it would fit "
        "if nodes had fewer pods. `waits its turn`: it fits now, or waits for something that is "
        "not about nodes.",
    )
    sentence = serializers.CharField(help_text="The proof, and the dominant reason.")
    wait = WaitEstimateSerializer(
        allow_null=True,
        help_text="The expected wait; null for pods that can never run or have scheduling gates, "
        f"and with fewer than {LEAST} comparable pods.",
    )


class PodOriginSerializer(serializers.Serializer[Any]):
    """The cluster that this one was forked from, for a pod with decisions there."""

    cluster = serializers.CharField(help_text="Its name at the time of the fork.")
    version = serializers.IntegerField()
    at = serializers.DateTimeField()
    decisions = serializers.CharField(
        allow_null=True,
        help_text="The address of the decisions about the pod until then. Null if nothing of that "
        "cluster is retained.",
    )


class PodExplanationSerializer(serializers.Serializer[Any]):
    why_pending = serializers.CharField()
    message = serializers.CharField()
    decision = serializers.IntegerField(source="decision.pk", allow_null=True, default=None)
    place = PlaceSerializer(allow_null=True)
    wake = _WakeEventSerializer(many=True)
    wake_by_time = serializers.CharField()
    unblocking = UnblockingSerializer(allow_null=True)
    prospect = ProspectSerializer(
        allow_null=True, help_text="Whether it can ever be scheduled; null: it is not pending."
    )
    devices = DeviceMatrixSerializer(
        allow_null=True,
        help_text="Which devices its claims could use now. Null without claims to allocate.",
    )
    forked_from = serializers.SerializerMethodField(
        help_text="Where its decisions before the fork are; null if there are none, as in a "
        "cluster that is no fork."
    )

    @extend_schema_field(PodOriginSerializer(allow_null=True))
    def get_forked_from(self, explained: PodExplanation) -> dict[str, Any] | None:
        origin: Origin | None = self.context["origin"]
        if origin is None:
            return None
        past = "~" in origin.slug
        parent = f"history/clusters/{origin.cluster_id}" if past else f"clusters/{origin.slug}"
        address = f"/api/v1/{parent}/decisions?pod_uid={explained.uid}"
        values = {
            "cluster": origin.name,
            "version": origin.version,
            "at": origin.at,
            "decisions": address if origin.slug else None,
        }
        return dict(PodOriginSerializer(values).data)

"""The feature gates of a cluster: those of its active configuration."""

from __future__ import annotations

from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.controlplane.profiles import revisions
from apps.scheduler.features import FeatureGates


def gates_of(cluster: Cluster) -> FeatureGates:
    """The feature gates in effect; reads the active revision."""
    return revisions.load_configuration(revisions.get_active(cluster)).gates


def is_served(cluster: Cluster, kind: Kind) -> bool:
    """Whether the cluster has the kind: a kind of a feature gate, only while the gate is on."""
    return not kind.feature_gate or gates_of(cluster).enabled(kind.feature_gate)

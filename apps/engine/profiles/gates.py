"""The feature gates of a cluster: what they turn on, and lists of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.engine.profiles import revisions
from apps.scheduler.features import FeatureGate, FeatureGates
from apps.scheduler.features.effects import EFFECTS, effect_of, listed_gates


@dataclass(frozen=True, slots=True, kw_only=True)
class GateInRevision(FeatureGate):
    """A gate as Kubernetes declares it, and its value in a revision."""

    #: the value in effect in the revision
    enabled: bool
    #: whether the revision sets it
    given: bool
    #: what it does in this scheduler
    effect: str
    has_effect: bool

    ANSWER: ClassVar = ("name", "enabled", "given", "default", "locked", "stage", "requires", ...)


@dataclass(frozen=True, slots=True)
class GateList:
    """The feature gates in a revision."""

    revision: int
    #: the value of kube-scheduler's flag --feature-gates; empty: none is set
    flag: str
    items: Sequence[GateInRevision]


def gates_of(cluster: Cluster) -> FeatureGates:
    """The feature gates in effect; reads the active revision."""
    return revisions.load_configuration(revisions.get_active(cluster)).gates


def is_served(cluster: Cluster, kind: Kind) -> bool:
    """Whether the cluster has the kind: a kind of a feature gate, only while the gate is on."""
    return not kind.feature_gate or gates_of(cluster).enabled(kind.feature_gate)


def list_gates(cluster: Cluster, number: int = 0, *, everything: bool = False) -> GateList:
    """The gates about scheduling, or all, in a revision (0: the active one).

    Raises NotFound if there is none.
    """
    revision = revisions.get_revision(cluster, number) if number else revisions.get_active(cluster)
    gates = revisions.load_configuration(revision).gates
    listed = listed_gates(everything=everything)
    shown = [*listed, *_given_besides(gates, listed)]
    items = [
        GateInRevision(
            *(gate.name, gate.stage, gate.default, gate.locked, gate.requires),
            enabled=gates.enabled(gate.name),
            given=gate.name in gates.given,
            effect=effect_of(gate),
            has_effect=gate.name in EFFECTS,
        )
        for gate in shown
    ]
    return GateList(revision.revision, gates.as_flag(), items)


def _given_besides(gates: FeatureGates, listed: Sequence[FeatureGate]) -> list[FeatureGate]:
    """The gates that are set, although they are about other components."""
    names = {gate.name for gate in listed}
    return [
        gate
        for gate in listed_gates(everything=True)
        if gate.name in gates.given and gate.name not in names
    ]

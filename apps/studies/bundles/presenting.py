"""What an opened bundle shows."""

from __future__ import annotations

from dataclasses import dataclass

from apps.engine.models import SchedulingDecision
from apps.studies.bundles.opening import OpenedBundle, reading_contents
from apps.studies.explanations.explained_decisions import DecisionExplanation, explain_decision


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleContents:
    #: the cluster of the decision
    cluster: str
    #: in bytes
    size: int
    #: what the decision did not read was left out
    is_pruned: bool
    #: other pods have their names; else those that the decision does not name are called
    #: `unnamed-1` and so on
    has_names: bool
    nodes: int
    #: pods on nodes
    pods: int
    #: the KubeSchedulerConfiguration
    configuration: str


@dataclass(frozen=True, slots=True)
class PresentedBundle:
    """An opened bundle with its verification and its explanation."""

    bundle: BundleContents
    decision: SchedulingDecision
    differences: list[str]
    explanation: DecisionExplanation

    @property
    def is_equal(self) -> bool:
        """Whether the decision is the same when it is decided again."""
        return not self.differences


def present_bundle(opened: OpenedBundle, *, node: str = "", against: str = "") -> PresentedBundle:
    """Verify and explain; `node` and `against` name nodes to explain."""
    bundle = opened.bundle
    contents = BundleContents(
        cluster=bundle.cluster,
        size=opened.size,
        is_pruned=bundle.is_pruned,
        has_names=bundle.has_names,
        nodes=bundle.state.nodes.length,
        pods=bundle.state.pods.length,
        configuration=bundle.configuration,
    )
    differences = opened.verify()
    with reading_contents():
        explained = explain_decision(
            opened.row, node=node, against=against, decision=opened.decision, source=opened
        )
    return PresentedBundle(contents, opened.row, differences, explained)

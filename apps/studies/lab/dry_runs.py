"""Where a pod would go: what a dry run of a creation or of a binding adds to its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.models import Cluster
from apps.engine.results.refusals import find_refusal
from apps.scheduler import objects
from apps.scheduler.objects import Pod
from apps.studies.lab.base import Base, read_base
from apps.studies.lab.configurations import choose_configuration
from apps.studies.lab.simulated_changes import Arrival, Changed, Origin
from apps.studies.lab.simulation import run_simulation

#: A pod with this annotation, "true", is simulated by a dry run of its creation.
ANNOTATION: Final = "schedweb.io/simulate"


def describe_creation(cluster: Cluster, body: Mapping[str, Any]) -> str:
    """Where a pod that is not created would be placed, or why it would not be."""
    pod: Pod = objects.decode_as(Pod, body)
    return _describe(_read(cluster), pod, Origin.NEW)


def describe_binding(cluster: Cluster, namespace: str, name: str, node: str) -> str:
    """Where a pending pod would be placed, and whether its scheduler would accept `node`."""
    base = _read(cluster)
    key = f"{namespace}/{name}"
    pod = next((each for each in base.pending.values() if each.key == key), None)
    return "" if pod is None else _describe(base, pod, Origin.PENDING, node)


def _read(cluster: Cluster) -> Base:
    return read_base(cluster, None, choose_configuration(cluster))


def _describe(base: Base, pod: Pod, origin: Origin, node: str = "") -> str:
    simulation = run_simulation(base, Changed([Arrival(pod, origin)]), explained=[pod.key])
    simulated = simulation.run.pods[pod.metadata.uid]
    at = f"at version {base.version}"
    if simulated.is_placed:
        outcome = f"would be placed on {simulated.node} {at}"
    else:
        outcome = f"would not be placed {at}: {simulated.sentence}"
    decision = simulated.decision
    refusal = None
    if node and decision is not None and node in decision.nodes:
        refusal = find_refusal(decision, node)
    if refusal is not None and refusal.is_evaluated:
        outcome += f"; {node} is rejected by {refusal.source}: {refusal.reason}"
    return f"pod {pod.key} {outcome}"

"""Answers of the lab as JSON, for the API and the commands."""

from __future__ import annotations

import dataclasses
from dataclasses import asdict
from typing import Any, Final

from apps.engine.results.flips import Flip
from apps.engine.results.presenting import present_decision
from apps.scheduler.scheduler import Scheduler
from apps.studies.lab.base import Base
from apps.studies.lab.counterfactuals import Counterfactual
from apps.studies.lab.emptying import EmptiedNode, Emptying
from apps.studies.lab.failures import Failures, NodeFailure
from apps.studies.lab.fitting import Fitting
from apps.studies.lab.planning import Plan
from apps.studies.lab.reasons import describe_pod
from apps.studies.lab.run import SimulatedPod
from apps.studies.lab.simulation import Simulation

Json = dict[str, Any]

#: Nodes of each list in the explanation of a decision; `count` has the number of all.
FIRST_NODES: Final = 100


def present_base(base: Base) -> Json:
    """The one state from which everything in an answer follows."""
    return {
        "cluster": base.cluster.name,
        "resource_version": base.version,
        "at": base.at,
        "decision": base.decision,
        "revision": base.configuration.revision,
        "feature_gates": dict(base.configuration.feature_gates),
    }


def present_simulation(simulation: Simulation) -> Json:
    """A whole simulation."""
    run = simulation.run
    pods = [present_pod(run.scheduler, pod) for pod in simulation.run.pods.values()]
    placed = [pod for pod in pods if pod["node"]]
    not_placed = [pod for pod in pods if not pod["node"]]
    return {
        "state": present_base(simulation.base),
        "placed": placed,
        "not_placed": not_placed,
        "preempted": [asdict(pod) for pod in run.preempted],
        "moved": [
            {"namespace": pod.namespace, "name": pod.name, "left": pod.left, "node": pod.node}
            for pod in simulation.moved
        ],
        "lost": [asdict(pod) for pod in simulation.lost],
        "attempts": run.attempts,
        "seconds": round(simulation.seconds, 6),
        "quiet": run.is_quiet,
    }


def present_pod(scheduler: Scheduler, pod: SimulatedPod) -> Json:
    """A pod with its last attempt."""
    explanation = None
    if pod.decision is not None:
        explanation = present_decision(pod.decision, first=FIRST_NODES)
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "origin": pod.origin.value,
        "left": pod.left,
        "node": pod.node,
        "nominated_node": pod.nominated_node if not pod.node else "",
        "attempts": pod.attempts,
        "total_score": pod.total_score,
        "feasible_nodes": pod.feasible,
        "tied_nodes": pod.tied,
        "message": pod.message,
        "sentence": describe_pod(scheduler, pod),
        "explanation": explanation,
    }


def present_fitting(found: Fitting) -> Json:
    """How many copies of a pod fit."""
    return {
        "state": present_base(found.base),
        "pod": found.pod,
        "count": found.count,
        "limited": found.is_limited,
        "nodes": dict(found.nodes),
        "sentence": found.sentence,
        "message": found.message,
    }


def present_plan(plan: Plan) -> Json:
    """The nodes that are needed."""
    return {
        "state": present_base(plan.base),
        "shapes": [asdict(each) for each in plan.alone],
        "mix": None if plan.mix is None else dict(plan.mix),
        "cost": plan.cost,
        "method": plan.method,
        "placed": len(plan.simulation.placed),
        "impossible": dict(plan.impossible),
    }


def present_emptying(found: Emptying) -> Json:
    """The nodes that could be emptied."""
    return {
        "state": present_base(found.base),
        "together": [each.node for each in found.together],
        "nodes": [_present_emptied(each) for each in found.nodes],
    }


def _present_emptied(node: EmptiedNode) -> Json:
    return {
        "node": node.node,
        "can_be_emptied": node.can_be_emptied,
        "together": node.together,
        "moves": dict(node.moves),
        "blocked_by": node.blocked_by,
        "reason": node.reason,
        "unmanaged": list(node.unmanaged),
    }


def present_failures(found: Failures) -> Json:
    """What the failure of each node does."""
    return {
        "state": present_base(found.base),
        "nodes": [_present_failure(each) for each in found.nodes],
    }


def _present_failure(failure: NodeFailure) -> Json:
    simulation = failure.simulation
    scheduler = simulation.run.scheduler
    return {
        "node": failure.node,
        "moved": failure.moved,
        "waiting": failure.waiting,
        "preempted": len(simulation.run.preempted),
        "lost": [asdict(pod) for pod in simulation.lost],
        "not_placed": [
            {
                "namespace": pod.namespace,
                "name": pod.name,
                "sentence": describe_pod(scheduler, pod),
            }
            for pod in simulation.not_placed
        ],
    }


def present_counterfactual(found: Counterfactual) -> Json:
    """What a recorded decision would have been."""
    recorded = dict(zip(found.recorded.nodes, found.recorded.total.tolist(), strict=True))
    totals = found.matrix.total.tolist()
    ranked = zip(found.matrix.nodes, found.matrix.ranks.tolist(), totals, strict=True)
    return {
        "sentence": found.sentence,
        "effect": found.effect.value,
        "recorded_node": found.rule.node,
        "node": found.node,
        "tied": list(found.tied),
        "weights": [
            {"plugin": plugin, "recorded": before, "weight": weight}
            for plugin, (before, weight) in found.weights.items()
        ],
        "without": list(found.question.without),
        "nodes": [
            {
                "node": node,
                "rank": rank,
                "total": total,
                "recorded_total": recorded.get(node),
                "missed_by": totals[0] - total,
            }
            for node, rank, total in ranked
        ],
        "flips": [_present_flip(each) for each in found.flips],
    }


def _present_flip(flip: Flip) -> Json:
    # `asdict` would copy the tied nodes one by one
    fields = {each.name: getattr(flip, each.name) for each in dataclasses.fields(flip)}
    return {**fields, "distance": flip.distance, "sentence": flip.sentence}

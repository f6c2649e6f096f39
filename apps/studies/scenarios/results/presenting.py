"""Finished scenarios as plain data: what the REST API, `--json` and stored results contain."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from apps.studies.scenarios.results.checking import Outcome
from apps.studies.scenarios.results.figures import count_figures
from apps.studies.scenarios.running.recording import PodRecord, Recorder
from apps.studies.scenarios.running.run import FinishedRun
from apps.studies.scenarios.running.sweeping import FinishedScenario

Body = dict[str, Any]

#: Of each run, so many pods are listed.
MOST_PODS = 1000


def present_scenario(finished: FinishedScenario) -> Body:
    """The whole result."""
    return {
        "name": finished.scenario.name,
        "description": finished.scenario.description,
        "passed": finished.passed,
        "runs": [present_run(run) for run in finished.runs],
    }


def present_run(run: FinishedRun) -> Body:
    """One run: expectations, figures, figures over time, and pods."""
    recorder = run.recorder
    pods = list(recorder.pods.values())
    return {
        "name": run.variation.name,
        "cluster": run.variation.cluster,
        "profile": run.variation.profile,
        "seed": run.variation.seed,
        "passed": run.passed,
        "expectations": [_present_outcome(outcome) for outcome in run.outcomes],
        "figures": present_figures(run),
        "series": present_series(recorder),
        "pods": [_present_pod(pod) for pod in _listed(pods)],
        "digest": digest(pods),
    }


def present_figures(run: FinishedRun) -> Body:
    """The figures by which runs are compared; times are seconds."""
    times = {"seconds": round(run.seconds, 3), "processor_seconds": round(run.cost, 3)}
    return times | count_figures(run.recorder)


def present_series(recorder: Recorder) -> Mapping[str, Sequence[float]]:
    """Figures over time, one value for each sample."""
    samples = recorder.samples
    return {
        "at": [round(each.at, 3) for each in samples],
        "nodes": [each.nodes for each in samples],
        "pending": [each.pending for each in samples],
        "running": [each.running for each in samples],
        "cpu": [round(each.utilization.get("cpu", 0.0), 4) for each in samples],
        "memory": [round(each.utilization.get("memory", 0.0), 4) for each in samples],
        "imbalance": [round(each.imbalance, 4) for each in samples],
    }


def digest(pods: Sequence[PodRecord]) -> str:
    """Equal for two runs in which the same pods had the same nodes at the same times."""
    lines = (
        f"{pod.key} {pod.created_at} {pod.bound_at} {pod.node} {pod.ended_at} {pod.attempts} "
        f"{pod.phase} {pod.disruption} {pod.message}\n"
        for pod in pods
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _listed(pods: Sequence[PodRecord]) -> Sequence[PodRecord]:
    """The first pods; those that wait or were disrupted before others."""
    ordered = sorted(pods, key=lambda pod: not (pod.is_pending or pod.disruption))
    return ordered[:MOST_PODS]


def _present_outcome(outcome: Outcome) -> Body:
    return {
        "name": outcome.name,
        "met": outcome.met,
        "message": outcome.message,
        "at": round(outcome.at, 3),
    }


def _present_pod(pod: PodRecord) -> Body:
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "workload": pod.workload,
        "node": pod.node,
        "phase": pod.phase,
        "created_at": _rounded(pod.created_at),
        "bound_at": _rounded(pod.bound_at),
        "ended_at": _rounded(pod.ended_at),
        "attempts": pod.attempts,
        "disruption": pod.disruption,
        "message": pod.message or pod.why_disrupted,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)

"""kube-scheduler's metrics: names, labels and buckets are upstream's, for dashboards and alerts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]
Stability = Literal["STABLE", "BETA", "ALPHA"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One family of time series."""

    name: str
    kind: Kind
    stability: Stability
    help: str
    labels: tuple[str, ...] = ()
    #: upper bounds of a histogram's buckets, ascending, without +Inf
    buckets: tuple[float, ...] = ()


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """``count`` bounds, each ``factor`` times the one before, multiplied up as Go does."""
    bounds = [start]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


_MILLISECONDS = exponential(0.001, 2, 15)
_PLUGIN = exponential(0.00001, 1.5, 20)
_EXTENSION_POINT = exponential(0.0001, 2, 12)

SCHEDULE_ATTEMPTS = Metric(
    "scheduler_schedule_attempts_total",
    "counter",
    "STABLE",
    "Attempts to schedule a pod, by result: unschedulable means that no node fits, error that "
    "something failed.",
    ("result", "profile"),
)
ATTEMPT_DURATION = Metric(
    "scheduler_scheduling_attempt_duration_seconds",
    "histogram",
    "STABLE",
    "Time of an attempt in seconds: the scheduling algorithm and the binding.",
    ("result", "profile"),
    _MILLISECONDS,
)
ALGORITHM_DURATION = Metric(
    "scheduler_scheduling_algorithm_duration_seconds",
    "histogram",
    "ALPHA",
    "Time of the scheduling algorithm in seconds, from the snapshot to the choice of a node.",
    buckets=_MILLISECONDS,
)
EVENT_HANDLING_DURATION = Metric(
    "scheduler_event_handling_duration_seconds",
    "histogram",
    "ALPHA",
    "Time in seconds to take a change of the cluster into cache and queue.",
    ("event",),
    _EXTENSION_POINT,
)
PREEMPTION_VICTIMS = Metric(
    "scheduler_preemption_victims",
    "histogram",
    "STABLE",
    "Victims of each preemption.",
    buckets=exponential(1, 2, 7),
)
PREEMPTION_ATTEMPTS = Metric(
    "scheduler_preemption_attempts_total", "counter", "STABLE", "Attempts to preempt pods."
)
PENDING_PODS = Metric(
    "scheduler_pending_pods",
    "gauge",
    "STABLE",
    "Pending pods, by the queue they are in; gated pods were never tried.",
    ("queue",),
)
INFLIGHT_EVENTS = Metric(
    "scheduler_inflight_events",
    "gauge",
    "ALPHA",
    "Events the queue remembers for pods in flight, and as PodPopped those pods.",
    ("event",),
)
GOROUTINES = Metric(
    "scheduler_goroutines",
    "gauge",
    "BETA",
    "Threads at work beside the scheduling cycle, by what they do.",
    ("operation",),
)
SLI_DURATION = Metric(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "histogram",
    "BETA",
    "Seconds from the moment a pod was ready for its first attempt until it was scheduled, by "
    "the number of attempts it took.",
    ("attempts",),
    exponential(0.01, 2, 20),
)
POD_ATTEMPTS = Metric(
    "scheduler_pod_scheduling_attempts",
    "histogram",
    "STABLE",
    "Attempts it took until a pod was scheduled.",
    buckets=exponential(1, 2, 5),
)
SCHEDULED_AFTER_FLUSH = Metric(
    "scheduler_pod_scheduled_after_flush_total",
    "counter",
    "ALPHA",
    "Pods that were scheduled after no event but the time they had waited brought them back: a "
    "queueing hint may have missed what helped them.",
)
EXTENSION_POINT_DURATION = Metric(
    "scheduler_framework_extension_point_duration_seconds",
    "histogram",
    "STABLE",
    "Time in seconds of all plugins of an extension point together.",
    ("extension_point", "status", "profile"),
    _EXTENSION_POINT,
)
PLUGIN_DURATION = Metric(
    "scheduler_plugin_execution_duration_seconds",
    "histogram",
    "ALPHA",
    "Time in seconds of one plugin at one extension point; in Filter and Score for all nodes of "
    "an attempt at once.",
    ("plugin", "extension_point", "status"),
    _PLUGIN,
)
HINT_DURATION = Metric(
    "scheduler_queueing_hint_execution_duration_seconds",
    "histogram",
    "ALPHA",
    "Time in seconds of a plugin's queueing hint function.",
    ("plugin", "event", "hint"),
    _PLUGIN,
)
QUEUE_INCOMING = Metric(
    "scheduler_queue_incoming_pods_total",
    "counter",
    "STABLE",
    "Pods that entered a queue, by the event that brought them there.",
    ("queue", "event"),
)
PERMIT_WAIT = Metric(
    "scheduler_permit_wait_duration_seconds",
    "histogram",
    "BETA",
    "Seconds for which Permit plugins held a pod.",
    ("result",),
    _MILLISECONDS,
)
CACHE_SIZE = Metric(
    "scheduler_cache_size",
    "gauge",
    "ALPHA",
    "Nodes, pods and assumed pods in the scheduler's cache.",
    ("type",),
)
UNSCHEDULABLE_PODS = Metric(
    "scheduler_unschedulable_pods",
    "gauge",
    "BETA",
    "Pods that wait because a plugin refused them; a pod counts for each of its plugins.",
    ("plugin", "profile"),
)
PLUGIN_EVALUATION = Metric(
    "scheduler_plugin_evaluation_total",
    "counter",
    "BETA",
    "How often a plugin judged a pod (PreFilter, PreScore) or a pod on a node (Filter, Score).",
    ("plugin", "extension_point", "profile"),
)

ALL = (
    SCHEDULE_ATTEMPTS,
    ATTEMPT_DURATION,
    ALGORITHM_DURATION,
    EVENT_HANDLING_DURATION,
    PREEMPTION_VICTIMS,
    PREEMPTION_ATTEMPTS,
    PENDING_PODS,
    INFLIGHT_EVENTS,
    GOROUTINES,
    SLI_DURATION,
    POD_ATTEMPTS,
    SCHEDULED_AFTER_FLUSH,
    EXTENSION_POINT_DURATION,
    PLUGIN_DURATION,
    HINT_DURATION,
    QUEUE_INCOMING,
    PERMIT_WAIT,
    CACHE_SIZE,
    UNSCHEDULABLE_PODS,
    PLUGIN_EVALUATION,
)

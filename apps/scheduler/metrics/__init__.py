"""What the scheduler counts and measures, by kube-scheduler's own names (pkg/scheduler/metrics).

The scheduler and its queue record here; the control plane stores and serves the series.
"""

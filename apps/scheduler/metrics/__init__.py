"""What the scheduler counts and measures, by kube-scheduler's own names (pkg/scheduler/metrics)."""

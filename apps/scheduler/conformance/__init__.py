"""Replays what kube-scheduler 1.36 was recorded doing and reports every difference."""

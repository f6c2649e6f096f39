"""Replays recordings of kube-scheduler 1.36 and reports every difference."""

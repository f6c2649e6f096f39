"""Compares decisions that kube-scheduler-simulator recorded with those of the scheduler."""

"""Workload controllers: they keep the pods they were asked for."""

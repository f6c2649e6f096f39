"""Workload controllers: maintain the requested pods."""

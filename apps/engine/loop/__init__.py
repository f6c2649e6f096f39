"""The scheduling loop: what a worker does for one cluster while it holds the cluster's lease.

The engine reads the change log, runs the scheduler and records its decisions.
Imported by tasks, rebuilding and the rooms above them.
"""

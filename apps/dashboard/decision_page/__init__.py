"""The parts of a decision's page: the funnel, the table of scores, preemption, the durations.

Pure functions over `apps.controlplane.results`; sentences are in `apps.controlplane.explanations`.
Only the views import it.
"""

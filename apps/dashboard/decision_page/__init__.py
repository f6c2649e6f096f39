"""The parts of a decision's page: the funnel, the table of scores, preemption, the durations.

Pure functions over `apps.engine.results`; sentences are in `apps.studies.explanations`.
Only the views import it.
"""

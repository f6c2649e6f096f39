"""One decision as its page shows it: the funnel, the table of scores, preemption, the durations.

Pure functions over `apps.controlplane.results`; the words are `apps.controlplane.explanations`.
Only the views import it.
"""

"""One decision as its page draws it: the funnel, the scores, preemption, the time it took.

Pure functions over a `Decision`; why it was so is told by `apps.controlplane.explanations`.
Only the views import it.
"""

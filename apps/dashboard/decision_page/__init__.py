"""One decision as its page draws it: the funnel, the scores, preemption, the time it took.

Pure functions over a `Decision`; what it is and why, in words, is `apps.controlplane.explanations`.
"""

"""The step debugger: one attempt, extension point by extension point, with verdicts to change.

A session is an address: the pod, the version of the cluster and the changed verdicts. Each step
runs the attempt in memory up to there, so nothing is left behind by one that is abandoned.
`committing` runs it once more in an engine of the paused cluster and records it.
"""

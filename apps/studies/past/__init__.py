"""A cluster at a past moment: nodes, pods, counts, usage and queue; what differs between two.

`past_version` finds the version of a moment, `snapshots` has the nodes and pods at a version,
`overview` the figures, `differences` what differs between two snapshots. Only the change log, the
tables of objects and the history of the queue are read; nothing is written.
"""

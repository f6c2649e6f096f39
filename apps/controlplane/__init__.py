"""The control plane: what acts on the objects of a cluster, and the records of it.

Rooms, from the top: management and tasks, operations, clusters, explanations, rebuilding, loop,
controllers, metrics and history, queue, ledger, queries, events, profiles, workers, partitions,
models. A room imports those below it only; api and dashboard may import any.
"""

"""Shadows: clusters that follow a real one, read-only, so that its bindings are reviewed here.

    API server ──list, watch──▶ remote ──changes──▶ following ──writes──▶ mirror ──▶ the store

`creating` makes the cluster, `remote` reads the other one, `mirror` writes its objects as they are.
The loop of a shadow schedules nothing: it gives a second opinion on each binding, as for any
external scheduler.
"""

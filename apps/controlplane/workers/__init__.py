"""Workers and clusters: the lease, heartbeats, and how a loop is woken or waited for.

Imports no other room but models; any room may import it.
"""

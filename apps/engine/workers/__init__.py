"""Workers and clusters: the lease, heartbeats, and how a loop is woken or waited for.

Imports nothing else of this app but models; every package may import it.
"""

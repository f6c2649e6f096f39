"""Questions about a cluster that is pasted and not kept.

`asking` composes the answers of the lab, in a transaction that is rolled back; `confined` does so
in a process of its own, with limits.
"""

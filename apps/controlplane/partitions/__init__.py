"""Append-only tables, partitioned by day: the ledger and the queue's history.

Imports nothing of the control plane; migrations import `division`.
"""

"""Tables partitioned by day whose rows are never updated: the ledger and the queue's history.

Imports nothing else of this app; migrations import `division`.
"""

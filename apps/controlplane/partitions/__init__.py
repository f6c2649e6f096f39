"""Tables divided by days whose rows are never changed: the ledger and the queue's history.

Imports nothing of the control plane; migrations import `division`.
"""

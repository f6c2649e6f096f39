"""The decision ledger: writes, reads, searches and exports the rows of decisions.

Imported by the queue's history, the loop, rebuilding, explanations, api and dashboard.
"""

"""The decision ledger: rows of decisions written, read, searched and exported.

Imported by the queue's history, the loop, rebuilding, explanations, api and dashboard.
"""

"""The change log: reading it, announcing changes to subscribers, and deleting old changes.

Imported by the store, the loop, watches and pages.
"""

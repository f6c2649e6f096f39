"""The change log: read, announced to those who wait for it, and forgotten after its time.

Imported by the store, the loop, watches and pages.
"""

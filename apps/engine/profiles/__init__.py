"""Scheduler configurations: revisions, the differences between them, out-of-tree plugins.

Imported by the loop, queries and every room above them.
"""

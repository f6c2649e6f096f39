"""Scheduler configurations: their revisions, what differs between them, and outside plugins.

Imported by the loop, queries and every room above them.
"""

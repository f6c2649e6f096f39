"""Creating, changing and deleting clusters, and what fills them: nodes, manifests, traces, drains.

Imported by operations, commands, api and dashboard.
"""

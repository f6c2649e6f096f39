"""Creates, changes and deletes clusters and their contents: nodes, manifests, traces, drains.

Imported by operations, commands, api and dashboard.
"""

"""The past, as it was recorded: changes, events, the story of a pod, deleted clusters.

Imported by clusters, retention, api and dashboard.
"""

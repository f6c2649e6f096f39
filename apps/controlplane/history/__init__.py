"""The past: the story of a pod, deleted clusters, and how long history is retained.

Imported by clusters, tasks, api and dashboard.
"""

"""What happened: a pod's story, deleted clusters, and how long history is retained.

Imported by clusters, tasks, api and dashboard.
"""

"""Kubernetes events: written with their series, and removed when their time is over.

Imported by the controllers and the loop.
"""

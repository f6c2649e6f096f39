"""Kubernetes events: written with their series, and deleted when they expire.

Imported by the controllers and the loop.
"""

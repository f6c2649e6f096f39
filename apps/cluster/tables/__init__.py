"""Columns and cells of tables, as `kubectl get` and the pages show them.

The Kubernetes API and the pages import it.
"""

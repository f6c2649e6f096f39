"""The columns of each kind, as `kubectl get` and the pages show them.

Imports nothing of the control plane; the Kubernetes API and the dashboard import it.
"""

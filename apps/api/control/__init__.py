"""The API of the control plane, under /api/v1/.

A module for each group of addresses, with its serializers in it or beside it; `base` has what the
views share. Only `apps.api.urls` imports it.
"""

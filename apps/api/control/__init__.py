"""The API of the control plane itself, under /api/v1/.

One module for each group of addresses, with its serializers or beside them; `base` is what the
views share. Only `apps.api.urls` imports it.
"""

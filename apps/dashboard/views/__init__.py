"""The views: each reads the request, calls one query or service, and renders the result.

Views do not query models (a test checks it). Only `apps.dashboard.urls` imports it.
"""

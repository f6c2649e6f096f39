"""The views: each parses, calls one query or service, renders.

They query no model themselves (a test checks it). Only `apps.dashboard.urls` imports it.
"""

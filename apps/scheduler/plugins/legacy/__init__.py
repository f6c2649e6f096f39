"""Plugins of earlier releases that v1 no longer has.

Only converted profiles can enable them. Only the registry imports this package; it may import
other plugins.
"""

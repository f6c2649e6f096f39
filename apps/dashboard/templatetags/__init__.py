"""Filters and tags for the templates: figures, times, states, tables, scores.

Loaded by templates with `{% load %}`; no module imports it.
"""

"""Template filters and tags: figures, times, states, tables, scores.

Loaded by templates with `{% load %}`; no module imports it.
"""

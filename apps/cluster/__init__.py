"""The objects of clusters, the store that changes them, and the log of changes.

Packages, from the top: writing, quota, kinds (the declarations of all kinds), admission,
validation, log, schema, tables (columns) and pods. A package imports only those below it
(pyproject.toml has all floors).
"""
